import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIPQueue(nn.Module):
    def __init__(self, dim=16, K=64, m=0.99):
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, dim),
        )
        self.text = nn.Sequential(nn.Embedding(100, 32), nn.Flatten(), nn.Linear(32 * 6, dim))
        self.text_m = copy.deepcopy(self.text)
        for p in self.text_m.parameters():
            p.requires_grad = False
        self.m = m
        self.logit_scale = nn.Parameter(torch.ones([]) * 2.66)
        self.register_buffer("queue", F.normalize(torch.randn(K, dim), dim=-1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def update(self):
        for p, pm in zip(self.text.parameters(), self.text_m.parameters(), strict=True):
            pm.mul_(self.m).add_(p, alpha=1 - self.m)

    @torch.no_grad()
    def push(self, keys):
        i = int(self.ptr)
        self.queue[i : i + len(keys)] = keys
        self.ptr.fill_((i + len(keys)) % len(self.queue))

    def forward(self, img, txt):
        zi = F.normalize(self.image(img), dim=-1)
        zt = F.normalize(self.text(txt), dim=-1)
        with torch.no_grad():
            self.update()
            zm = F.normalize(self.text_m(txt), dim=-1)
        scale = self.logit_scale.exp()
        bank = torch.cat([zm, self.queue.clone()])
        logits_i = scale * zi @ bank.t()
        logits_t = scale * zt @ zi.t()
        labels = torch.arange(len(img))
        loss = (F.cross_entropy(logits_i, labels) + F.cross_entropy(logits_t, labels)) / 2
        self.push(zm)
        return loss


model = CLIPQueue()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
# %% the recorded cell
for _ in range(3):
    img, txt = torch.randn(8, 3, 16, 16), torch.randint(0, 100, (8, 6))
    loss = model(img, txt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
