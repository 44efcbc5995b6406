# Both steps of a GAN, each clearing its own gradients first.
import torch
import torch.nn.functional as F
from torch import nn

G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
D = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
opt_d, opt_g = torch.optim.Adam(D.parameters()), torch.optim.Adam(G.parameters())
for real in torch.randn(3, 8, 4):
    fake = G(torch.randn(8, 2))
    opt_d.zero_grad()
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = F.softplus(-D(fake)).mean()
    loss_g.backward()
    opt_g.step()
assert G[0].weight.grad is not None
