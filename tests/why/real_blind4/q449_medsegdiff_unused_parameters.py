# https://github.com/ImprintLab/MedSegDiff/issues/27
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(start=0, end=half, dtype=torch.float32) / half)
    args = timesteps[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, channels, emb_channels):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(2, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb_channels, channels))

    def forward(self, x, emb):
        return x + self.in_layers(x) + self.emb_layers(emb)[:, :, None, None]


class Generic_UNet(nn.Module):
    """highway network: segments the image alone"""

    def __init__(self, in_channels, ch):
        super().__init__()
        self.conv_blocks = nn.Sequential(nn.Conv2d(in_channels, ch, 3, padding=1), nn.LeakyReLU(0.01),
                                         nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.01))
        self.seg_output = nn.Conv2d(ch, 1, 1)
        self.hw_out = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        feat = self.conv_blocks(x)
        return feat, torch.sigmoid(self.seg_output(feat))


class UNetModel_newpreview(nn.Module):
    def __init__(self, in_channels=4, ch=8, num_res_blocks=2):
        super().__init__()
        self.ch = ch
        self.time_embed = nn.Sequential(nn.Linear(ch, 2 * ch), nn.SiLU(), nn.Linear(2 * ch, 2 * ch))
        self.input_block = nn.Conv2d(in_channels, ch, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(ch, 2 * ch) for _ in range(num_res_blocks)])
        self.out = nn.Conv2d(ch, 1, 3, padding=1)
        self.hwm = Generic_UNet(in_channels - 1, ch)

    def forward(self, x, timesteps):
        emb = self.time_embed(timestep_embedding(timesteps, self.ch))
        c = x[:, :-1]
        anch, cal = self.hwm(c)
        h = self.input_block(x) + anch
        for module in self.blocks:
            h = module(h, emb)
        return self.out(h), cal


# %%
model = UNetModel_newpreview()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = [(torch.rand(2, 3, 8, 8), (torch.rand(2, 1, 8, 8) > 0.5).float()) for _ in range(2)]

for step, (batch, mask) in enumerate(data):
    t = torch.randint(0, 1000, (2,))
    noise = torch.randn_like(mask)
    a = torch.cos(t / 1000 * math.pi / 2)[:, None, None, None]
    x_t = a * mask + (1 - a**2).sqrt() * noise
    opt.zero_grad()
    model_output, cal = model(torch.cat([batch, x_t], dim=1), t)
    loss = F.mse_loss(model_output, noise) + 10 * F.binary_cross_entropy(cal, mask)
    loss.backward()
    opt.step()
    print(step, loss.item(), [n for n, p in model.named_parameters() if p.grad is None])
