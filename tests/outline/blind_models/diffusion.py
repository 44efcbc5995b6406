# A denoiser with time embeddings and one skip, and a slow copy of it for sampling
import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Stage(nn.Module):
    def __init__(self, inner, outer, temb):
        super().__init__()
        self.conv = nn.Conv2d(inner, outer, 3, padding=1)
        self.norm = nn.GroupNorm(2, outer)
        self.shift = nn.Linear(temb, outer)

    def forward(self, x, t):
        h = self.norm(self.conv(x))
        h = h + self.shift(t)[:, :, None, None]
        return F.silu(h)


class Denoiser(nn.Module):
    def __init__(self, width=8, temb=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, temb), nn.SiLU(), nn.Linear(temb, temb))
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down = Stage(width, 2 * width, temb)
        self.mid = Stage(2 * width, 2 * width, temb)
        self.up = Stage(3 * width, width, temb)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x, t):
        freqs = torch.exp(-math.log(1000) * torch.arange(4) / 4)
        waves = t[:, None] * freqs
        temb = self.time(torch.cat([waves.sin(), waves.cos()], -1))
        skip = self.stem(x)
        h = self.down(F.avg_pool2d(skip, 2), temb)
        h = self.mid(h, temb)
        h = F.interpolate(h, scale_factor=2)
        h = self.up(torch.cat([h, skip], 1), temb)
        return self.out(h)


model = Denoiser()
slow = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
clean = torch.randn(4, 1, 8, 8)
# %% the recorded cell
noise = torch.randn_like(clean)
t = torch.rand(4)
noisy = clean * (1 - t)[:, None, None, None] + noise * t[:, None, None, None]
opt.zero_grad()
guess = model(noisy, t)
loss = F.mse_loss(guess, noise)
loss.backward()
opt.step()
with torch.no_grad():
    for old, new in zip(slow.parameters(), model.parameters(), strict=True):
        old.lerp_(new, 0.01)
