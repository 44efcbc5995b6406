# The discriminator's step on a detached fake.
import torch
import torch.nn.functional as F
from torch import nn

G, D = nn.Linear(2, 4), nn.Linear(4, 1)
opt_d = torch.optim.Adam(D.parameters())
opt_g = torch.optim.Adam(G.parameters())
real, z = torch.randn(8, 4), torch.randn(8, 2)
fake = G(z)
loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
opt_d.zero_grad()
loss_d.backward()
opt_d.step()
assert D.weight.grad is not None
