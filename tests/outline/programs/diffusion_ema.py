import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Emb(nn.Module):
    def forward(self, t):
        f = torch.exp(-9.21 * torch.arange(8) / 8)
        a = t[:, None] * f
        return torch.cat([a.sin(), a.cos()], -1)


class Res(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, 1, 1)
        self.n = nn.GroupNorm(4, o)
        self.t = nn.Linear(32, o)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1)
        self.s = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        h = F.silu(self.n(self.c1(x)))
        h = h + self.t(t)[:, :, None, None]
        return F.silu(self.c2(h)) + self.s(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.te = nn.Sequential(Emb(), nn.Linear(16, 32), nn.SiLU())
        self.d1, self.d2, self.m, self.u2, self.u1 = (
            Res(1, 8),
            Res(8, 16),
            Res(16, 16),
            Res(32, 8),
            Res(16, 8),
        )
        self.o = nn.Conv2d(8, 1, 1)

    def forward(self, x, t):
        t = self.te(t)
        a = self.d1(x, t)
        b = self.d2(F.avg_pool2d(a, 2), t)
        m = self.m(F.avg_pool2d(b, 2), t)
        u = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1), t)
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2), a], 1), t)
        return self.o(u)


net = UNet()
ema = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.AdamW(net.parameters())
ac = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
# %% the recorded cell
for _step in range(3):
    x = torch.rand(4, 1, 16, 16)
    t = torch.randint(0, 100, (4,))
    n = torch.randn_like(x)
    a = ac[t][:, None, None, None]
    loss = F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * n, t.float()), n)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), ema, strict=True):
            q.lerp_(p, 0.01)
