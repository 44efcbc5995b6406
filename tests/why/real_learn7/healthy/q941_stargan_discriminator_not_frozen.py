# https://github.com/clovaai/stargan-v2/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

G, D = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
optims = {"G": torch.optim.Adam(G.parameters(), lr=1e-3), "D": torch.optim.Adam(D.parameters(), lr=1e-3)}


def reset_grad():
    for optim in optims.values():
        optim.zero_grad()


before = G.weight.detach().clone()

# %%
for i in range(3):
    real = torch.randn(16, 8)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(G(torch.randn(16, 4)).detach())).mean()
    reset_grad()
    d_loss.backward()
    optims["D"].step()
    g_loss = F.softplus(-D(G(torch.randn(16, 4)))).mean()
    reset_grad()
    g_loss.backward()
    optims["G"].step()
    print(d_loss.item(), g_loss.item())
