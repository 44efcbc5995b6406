import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()

        def f():
            return nn.Sequential(nn.Flatten(), nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 16))

        self.q, self.k = f(), f()
        for a, b in zip(self.q.parameters(), self.k.parameters(), strict=False):
            b.data.copy_(a.data)
            b.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(16, 64), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def momentum(self):
        for a, b in zip(self.q.parameters(), self.k.parameters(), strict=False):
            b.data = b.data * 0.999 + a.data * 0.001

    @torch.no_grad()
    def enqueue(self, k):
        p = int(self.ptr)
        self.queue[:, p : p + k.size(0)] = k.T
        self.ptr[0] = (p + k.size(0)) % 64

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum()
            k = F.normalize(self.k(b), dim=1)
        pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        self.enqueue(k)
        return torch.cat([pos, neg], 1) / 0.07


m = MoCo()
opt = torch.optim.SGD(m.parameters(), 0.03)
ce = nn.CrossEntropyLoss()
# %% the recorded cell
for _i in range(4):
    x = torch.rand(8, 3, 4, 4)
    out = m(x + 0.1 * torch.randn_like(x), x.flip(-1))
    loss = ce(out, torch.zeros(8, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
