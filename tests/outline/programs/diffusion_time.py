import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 4), nn.SiLU(), nn.Linear(dim * 4, dim))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
        args = t[:, None].float() * freqs[None]
        emb = torch.cat([args.sin(), args.cos()], dim=-1)
        return self.mlp(emb)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.time = nn.Linear(tdim, cout)
        self.norm2 = nn.GroupNorm(4, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(t))[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class UNet(nn.Module):
    def __init__(self, ch=16, tdim=32, classes=10):
        super().__init__()
        self.time_embed = TimeEmbedding(tdim)
        self.label_embed = nn.Embedding(classes + 1, tdim)
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.down1 = ResBlock(ch, ch, tdim)
        self.down2 = ResBlock(ch, ch * 2, tdim)
        self.mid = ResBlock(ch * 2, ch * 2, tdim)
        self.up2 = ResBlock(ch * 4, ch, tdim)
        self.up1 = ResBlock(ch * 2, ch, tdim)
        self.out = nn.Conv2d(ch, 3, 3, padding=1)

    def forward(self, x, t, y):
        emb = self.time_embed(t) + self.label_embed(y)
        x = self.inp(x)
        d1 = self.down1(x, emb)
        d2 = self.down2(F.avg_pool2d(d1, 2), emb)
        m = self.mid(F.avg_pool2d(d2, 2), emb)
        u = self.up2(torch.cat([F.interpolate(m, scale_factor=2), d2], 1), emb)
        u = self.up1(torch.cat([F.interpolate(u, scale_factor=2), d1], 1), emb)
        return self.out(F.silu(u))


model = UNet()
ema = {name: p.detach().clone() for name, p in model.named_parameters()}
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
betas = torch.linspace(1e-4, 0.02, 100)
alpha_bar = torch.cumprod(1 - betas, 0)
# %% the recorded cell
for _ in range(3):
    x0, y = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    y = torch.where(torch.rand(4) < 0.1, torch.full_like(y, 10), y)
    t = torch.randint(0, 100, (4,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t][:, None, None, None]
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    pred = model(xt, t, y)
    loss = F.mse_loss(pred, noise)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    with torch.no_grad():
        for name, p in model.named_parameters():
            ema[name].lerp_(p, 0.001)
