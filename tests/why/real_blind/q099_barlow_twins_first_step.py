# https://github.com/facebookresearch/barlowtwins/issues/45
from types import SimpleNamespace
import math

import torch
from torch import nn

args = SimpleNamespace(epochs=10, batch_size=256, learning_rate_weights=0.2)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0)
loader = [torch.randn(8, 6)]
before = model.weight.detach().clone()


# %%
def adjust_learning_rate(args, optimizer, loader, step):
    max_steps = args.epochs * len(loader)
    warmup_steps = 10 * len(loader)
    base_lr = args.batch_size / 256
    if step < warmup_steps:
        lr = base_lr * step / warmup_steps
    else:
        step -= warmup_steps
        max_steps -= warmup_steps
        q = 0.5 * (1 + math.cos(math.pi * step / max_steps))
        lr = base_lr * q
    optimizer.param_groups[0]['lr'] = lr * args.learning_rate_weights


# %%
for step, y1 in enumerate(loader, start=0):
    adjust_learning_rate(args, optimizer, loader, step)
    optimizer.zero_grad()
    model(y1).pow(2).mean().backward()
    optimizer.step()
print(torch.equal(before, model.weight), optimizer.param_groups[0]['lr'])
