# https://github.com/luogen1996/LaVIN/issues/32
import copy
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)


class Adapter(nn.Module):
    def __init__(self, dim, hidden=8, scale=1.0):
        super().__init__()
        self.down, self.up = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.scale = scale
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.scale * self.up(torch.nn.functional.silu(self.down(x)))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adapter = Adapter(dim)

    def forward(self, x):
        return x + self.mlp(self.adapter(self.norm(x)))


class Model(nn.Module):
    def __init__(self, dim=24, classes=3):
        super().__init__()
        self.proj = nn.Linear(6, dim)
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(self.proj(x)))


class NativeScaler:
    def __call__(self, loss, optimizer, parameters, clip_grad=None, update_grad=True):
        loss.backward()
        if not update_grad:
            return None
        norm = clip_grad_norm_(parameters, clip_grad)
        optimizer.step()
        return norm


centers = 1.5 * torch.randn(3, 6)
labels = torch.randint(0, 3, (320,))
samples = centers[labels] + 0.7 * torch.randn(320, 6)

# %%
model = Model()
for name, p in model.named_parameters():
    p.requires_grad = 'adapter' in name or 'head' in name
start = copy.deepcopy(model)
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=5e-3, weight_decay=0.02)
loss_scaler, criterion, accum_iter = NativeScaler(), nn.CrossEntropyLoss(), 4
epoch_losses, first_update = [], None

# %%
for epoch in range(12):
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for data_iter_step, index in enumerate(torch.arange(320).split(16)):
        loss = criterion(model(samples[index]), labels[index])
        total += loss.item()
        loss = loss / accum_iter
        update = (data_iter_step + 1) % accum_iter == 0
        loss_scaler(loss, optimizer, trainable, clip_grad=100.0, update_grad=update)
        if update:
            if first_update is None:
                first_update = model.head.weight.grad.clone()
            optimizer.zero_grad()
    epoch_losses.append(total / 20)
print(epoch_losses[0], epoch_losses[-1])

# %%
together = torch.autograd.grad(criterion(start(samples[:64]), labels[:64]), start.head.weight)[0]
assert torch.allclose(first_update, together, atol=1e-5)
assert epoch_losses[-1] < 0.5 * epoch_losses[0]
assert all(torch.equal(a, b) for (n, a), b in zip(model.named_parameters(), start.parameters()) if 'mlp' in n)
