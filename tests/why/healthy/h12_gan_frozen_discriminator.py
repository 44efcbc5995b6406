# The discriminator is frozen while the generator learns, and thawed after it.
import torch
import torch.nn.functional as F
from torch import nn

G, D = nn.Linear(2, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(G.parameters())
D.requires_grad_(False)
loss_g = F.softplus(-D(G(torch.randn(8, 2)))).mean()
opt_g.zero_grad()
loss_g.backward()
opt_g.step()
D.requires_grad_(True)
assert D.weight.grad is None
