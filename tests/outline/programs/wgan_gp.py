import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optG, optD = torch.optim.Adam(G.parameters(), 1e-4), torch.optim.Adam(D.parameters(), 1e-4)


def gp(real, fake):
    a = torch.rand(real.size(0), 1)
    x = (a * real + (1 - a) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


# %% the recorded cell
for _step in range(2):
    for _ in range(5):
        real = torch.randn(4, 16)
        fake = G(torch.randn(4, 8)).detach()
        lossD = D(fake).mean() - D(real).mean() + 10 * gp(real, fake)
        optD.zero_grad()
        lossD.backward()
        optD.step()
    lossG = -D(G(torch.randn(4, 8))).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()
