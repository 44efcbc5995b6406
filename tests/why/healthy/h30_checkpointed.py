# Activation checkpointing without reentry.
import torch
from torch import nn

from torch.utils.checkpoint import checkpoint

blocks = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3)])
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
h = torch.randn(4, 6)
for block in blocks:
    h = checkpoint(block, h, use_reentrant=False)
loss = h.pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert blocks[0][0].weight.grad is not None
