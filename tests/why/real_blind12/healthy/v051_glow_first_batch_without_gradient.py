# https://github.com/rosinality/glow-pytorch/issues/46
import torch
from torch import nn
from torch import optim
from math import log, pi

torch.manual_seed(0)
n_bins = 32.


def logabs(x):
    return torch.log(torch.abs(x))


class ActNorm(nn.Module):
    def __init__(self, in_channel):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, in_channel))
        self.scale = nn.Parameter(torch.ones(1, in_channel))
        self.register_buffer('initialized', torch.tensor(0, dtype=torch.uint8))

    def initialize(self, x):
        with torch.no_grad():
            self.loc.data.copy_(-x.mean(0, keepdim=True))
            self.scale.data.copy_(1 / (x.std(0, keepdim=True) + 1e-6))

    def forward(self, x):
        if self.initialized.item() == 0:
            self.initialize(x)
            self.initialized.fill_(1)
        return self.scale * (x + self.loc), logabs(self.scale).sum()


class AffineCoupling(nn.Module):
    def __init__(self, in_channel, filter_size=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_channel // 2, filter_size), nn.ReLU(),
                                 nn.Linear(filter_size, in_channel))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        b = (b + t) * s
        return torch.cat([b, a], 1), torch.log(s).sum(1)


class Glow(nn.Module):
    def __init__(self, in_channel, n_flow):
        super().__init__()
        self.actnorms = nn.ModuleList([ActNorm(in_channel) for _ in range(n_flow)])
        self.couplings = nn.ModuleList([AffineCoupling(in_channel) for _ in range(n_flow)])

    def forward(self, x):
        logdet = 0
        for actnorm, coupling in zip(self.actnorms, self.couplings):
            x, det = actnorm(x)
            x, det_c = coupling(x)
            logdet = logdet + det + det_c
        log_p = (-0.5 * log(2 * pi) - 0.5 * x ** 2).sum(1)
        return log_p, logdet


# %%
model = Glow(in_channel=8, n_flow=4)
optimizer = optim.Adam(model.parameters(), lr=2e-3)
mixing = torch.randn(8, 8) * 0.3
history = []

# %%
for i in range(120):
    image = torch.randn(64, 8) @ mixing
    if i == 0:
        with torch.no_grad():
            log_p, logdet = model(image + torch.rand_like(image) / n_bins)
            continue
    else:
        log_p, logdet = model(image + torch.rand_like(image) / n_bins)
    loss = -(logdet + log_p).mean() / (log(2) * 8)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print(history[0], history[-1])
assert sum(history[-10:]) < sum(history[:10])
assert all(p.grad is not None for p in model.parameters())
