# Four micro-batches, one step, cleared afterwards.
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(8, 5, 4)
optimizer.zero_grad()
for i, x in enumerate(data):
    loss = model(x).pow(2).mean() / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
assert all(p.grad is None for p in model.parameters())
