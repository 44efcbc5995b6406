# Two halves of a batch, each with a backward of its own.
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first, second = torch.randn(5, 4), torch.randn(5, 4)
optimizer.zero_grad()
loss_a = model(first).pow(2).mean() / 2
loss_a.backward()
loss_b = model(second).pow(2).mean() / 2
loss_b.backward()
optimizer.step()
assert model.weight.grad is not None
