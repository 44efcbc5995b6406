# A gradient penalty, with create_graph.
import torch
from torch import nn

D = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(D.parameters())
real, fake = torch.randn(8, 4), torch.randn(8, 4)
t = torch.rand(8, 1)
mixed = (t * real + (1 - t) * fake).requires_grad_()
(slope,) = torch.autograd.grad(D(mixed).sum(), mixed, create_graph=True)
loss = D(fake).mean() - D(real).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert D[0].weight.grad is not None
