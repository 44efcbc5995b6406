# https://github.com/chrischute/real-nvp/issues/13
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Scalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1))

    def forward(self, x):
        return self.weight * x


class CouplingLayer(nn.Module):
    def __init__(self, dim, hidden, reverse_mask):
        super().__init__()
        b = torch.arange(dim) % 2
        self.register_buffer('b', (1 - b if reverse_mask else b).float())
        self.st_net = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2 * dim))
        self.scale = Scalar()

    def forward(self, x, sldj=None, reverse=False):
        x_b = x * self.b
        s, t = self.st_net(x_b).chunk(2, dim=1)
        s = self.scale(torch.tanh(s))
        # where the mask is one, s becomes zero and its exponential one: that half passes as it is
        s = s * (1 - self.b)
        t = t * (1 - self.b)
        if reverse:
            return x * s.mul(-1).exp() - t, sldj
        x = (x + t) * s.exp()
        sldj = sldj + s.sum(-1)
        return x, sldj


class RealNVP(nn.Module):
    def __init__(self, dim=2, hidden=48, layers=5):
        super().__init__()
        self.flows = nn.ModuleList(CouplingLayer(dim, hidden, reverse_mask=k % 2 == 1) for k in range(layers))

    def forward(self, x, reverse=False):
        sldj = None if reverse else torch.zeros(len(x))
        for flow in reversed(self.flows) if reverse else self.flows:
            x, sldj = flow(x, sldj, reverse)
        return x, sldj


class RealNVPLoss(nn.Module):
    def forward(self, z, sldj):
        prior_ll = -0.5 * (z**2 + math.log(2 * math.pi))
        return -(prior_ll.sum(-1) + sldj).mean()


def moons(n):
    y = torch.randint(0, 2, (n,)).float()
    angle = torch.rand(n) * math.pi
    x = torch.stack([angle.cos() + y - 0.5, angle.sin() * (1 - 2 * y) + 0.4 * y - 0.2], 1)
    return 1.5 * x + 0.08 * torch.randn(n, 2)


# %%
net, loss_fn = RealNVP(), RealNVPLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
losses = []
for step in range(260):
    x = moons(256)
    z, sldj = net(x)
    loss = loss_fn(z, sldj)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 100.0)
    optimizer.step()
    losses.append(loss.item())

# %%
x = moons(64)
layer = net.flows[0]
with torch.no_grad():
    after, _ = layer(x, torch.zeros(64))
    z, sldj = net(x)
    back, _ = net(z, reverse=True)
passed = torch.equal((after * layer.b), x * layer.b)
jacobians = torch.stack([torch.autograd.functional.jacobian(lambda p: net(p[None])[0][0], point) for point in x[:8]])
by_autograd = torch.linalg.slogdet(jacobians).logabsdet
print(losses[0], losses[-1], passed, (back - x).abs().max().item(), (by_autograd - sldj[:8]).abs().max().item())
assert passed and torch.allclose(back, x, atol=1e-3)
assert torch.allclose(by_autograd, sldj[:8], atol=1e-3)
assert sum(losses[-20:]) / 20 < losses[0] - 1
