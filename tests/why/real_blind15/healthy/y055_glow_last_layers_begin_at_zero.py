# https://github.com/chaiyujin/glow-pytorch/issues/12
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, dim))
        self.logs = nn.Parameter(torch.zeros(1, dim))
        self.inited = False

    def initialize_parameters(self, x):
        with torch.no_grad():
            self.bias.copy_(-x.mean(0, keepdim=True))
            self.logs.copy_(-torch.log(x.std(0, keepdim=True) + 1e-6))
        self.inited = True

    def forward(self, x):
        if not self.inited:
            self.initialize_parameters(x)
        return (x + self.bias) * torch.exp(self.logs), self.logs.sum()

    def reverse(self, z):
        return z * torch.exp(-self.logs) - self.bias


class InvertibleLinear(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(dim, dim))[0])

    def forward(self, x):
        return x @ self.weight, torch.linalg.slogdet(self.weight)[1]

    def reverse(self, z):
        return z @ torch.inverse(self.weight)


class LinearZeros(nn.Linear):
    def __init__(self, in_channels, out_channels, logscale_factor=3):
        super().__init__(in_channels, out_channels)
        self.logscale_factor = logscale_factor
        self.logs = nn.Parameter(torch.zeros(out_channels))
        self.weight.data.zero_()
        self.bias.data.zero_()

    def forward(self, x):
        return super().forward(x) * torch.exp(self.logs * self.logscale_factor)


class FlowStep(nn.Module):
    def __init__(self, dim, hidden=48):
        super().__init__()
        self.actnorm = ActNorm(dim)
        self.invlinear = InvertibleLinear(dim)
        self.block = nn.Sequential(
            nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), LinearZeros(hidden, dim)
        )

    def shift_and_scale(self, z1):
        shift, scale = self.block(z1).chunk(2, dim=1)
        return shift, torch.sigmoid(scale + 2.)

    def forward(self, x):
        x, logdet1 = self.actnorm(x)
        x, logdet2 = self.invlinear(x)
        z1, z2 = x.chunk(2, dim=1)
        shift, scale = self.shift_and_scale(z1)
        return torch.cat([z1, (z2 + shift) * scale], 1), logdet1 + logdet2 + scale.log().sum(1)

    def reverse(self, z):
        z1, z2 = z.chunk(2, dim=1)
        shift, scale = self.shift_and_scale(z1)
        z = torch.cat([z1, z2 / scale - shift], 1)
        return self.actnorm.reverse(self.invlinear.reverse(z))


class Glow(nn.Module):
    def __init__(self, dim=2, K=6):
        super().__init__()
        self.flow = nn.ModuleList(FlowStep(dim) for _ in range(K))

    def forward(self, x):
        logdet = 0
        for step in self.flow:
            x, d = step(x)
            logdet = logdet + d
        prior = -0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1)
        return x, -(prior + logdet).mean()


def data(n=256):
    angle = torch.rand(n) * math.pi
    x = torch.stack([angle.cos(), angle.sin()], 1) * torch.randint(0, 2, (n, 1)).mul(2).sub(1)
    return x + 0.1 * torch.randn(n, 2)


# %%
model = Glow()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
nlls, hidden_grads = [], []
for it in range(250):
    z, nll = model(data())
    optimizer.zero_grad()
    nll.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    hidden_grads.append(model.flow[0].block[0].weight.grad.abs().max().item())
    optimizer.step()
    nlls.append(nll.item())

# %%
x = data()
with torch.no_grad():
    z, _ = model(x)
    back = z
    for step in reversed(model.flow):
        back = step.reverse(back)
zeros = model.flow[0].block[-1]
print(nlls[0], nlls[-1], hidden_grads[:2])
assert hidden_grads[0] == 0 and hidden_grads[1] > 0
assert zeros.weight.abs().max() > 0.01 and zeros.bias.abs().max() > 0.01
assert torch.allclose(x, back, atol=1e-3) and sum(nlls[-10:]) / 10 < nlls[0] - 0.5
