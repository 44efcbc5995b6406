# A normalizing flow of four coupling layers, and a prior that is learned
import torch
from torch import nn

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, d, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 2 * d))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        y = torch.cat([b, a] if self.flip else [a, b], 1)
        return y, s.sum(1)


class Flow(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(d // 2, k % 2 == 1) for k in range(4))
        self.mean = nn.Parameter(torch.zeros(d))
        self.scale = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        logdet = torch.zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return x, logdet

    def energy(self, z):
        centred = (z - self.mean) * (-self.scale).exp()
        return 0.5 * (centred**2).sum(1) + self.scale.sum()


flow = Flow(6)
opt = torch.optim.Adam(flow.parameters())
data = torch.randn(64, 6)
running = torch.zeros(6)
# %% the recorded cell
opt.zero_grad()
z, logdet = flow(data + 0.01 * torch.randn_like(data))
with torch.no_grad():
    running.mul_(0.9).add_(0.1 * z.mean(0))
nll = (flow.energy(z) - logdet).mean()
spread = (z.detach() - running).abs().mean()
loss = nll + 0.01 * spread * flow.scale.pow(2).sum()
loss.backward()
opt.step()
