# https://github.com/denfed/leaf-audio-pytorch/issues/3
import math

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class GaborConstraint(nn.Module):
    def __init__(self, kernel_size):
        super(GaborConstraint, self).__init__()
        self._kernel_size = kernel_size

    def forward(self, kernel):
        with torch.no_grad():
            sigma_lower = 4 * math.sqrt(2 * math.log(2)) / math.pi
            sigma_upper = self._kernel_size * math.sqrt(2 * math.log(2)) / math.pi
            clipped_mu = torch.clamp(kernel[:, 0], 0.0, math.pi).unsqueeze(1)
            clipped_sigma = torch.clamp(kernel[:, 1], sigma_lower, sigma_upper).unsqueeze(1)
            return torch.cat([clipped_mu, clipped_sigma], dim=-1)


class GaborConv1D(nn.Module):
    def __init__(self, filters, kernel_size):
        super(GaborConv1D, self).__init__()
        self._filters, self._kernel_size = filters, kernel_size
        init = torch.stack([torch.linspace(0.1, 3.0, filters), torch.full((filters,), 5.0)], 1)
        self._kernel = nn.Parameter(init)
        self._kernel_constraint = GaborConstraint(kernel_size)

    def forward(self, x):
        kernel = self._kernel_constraint(self._kernel)
        t = torch.arange(-(self._kernel_size // 2), (self._kernel_size + 1) // 2, dtype=torch.float32)
        gauss = torch.exp(-t ** 2 / (2 * kernel[:, 1:] ** 2)) / (math.sqrt(2 * math.pi) * kernel[:, 1:])
        real, img = gauss * torch.cos(kernel[:, :1] * t), gauss * torch.sin(kernel[:, :1] * t)
        stacked_filters = torch.stack([real, img], 1).view(2 * self._filters, 1, self._kernel_size)
        return F.conv1d(x, stacked_filters, padding=self._kernel_size // 2)


class Leaf(nn.Module):
    def __init__(self, n_filters=8, window_len=21):
        super().__init__()
        self._complex_conv = GaborConv1D(n_filters, window_len)
        self._pooling = nn.Conv1d(n_filters, n_filters, 9, stride=4, groups=n_filters, bias=False)
        self._alpha = nn.Parameter(torch.full((n_filters, 1), 0.96))

    def forward(self, x):
        outputs = self._complex_conv(x)
        energy = outputs.view(x.size(0), -1, 2, x.size(-1)).pow(2).sum(2)
        return self._alpha * self._pooling(energy)


# %%
device = torch.device("cpu")
a = Leaf().to(device)

## A random input that is like an audio waveform
x = torch.rand(1, 1, 400)

# %%
a.train()
before = a._complex_conv._kernel.detach().clone()
print(a._complex_conv._kernel.data)
opt = torch.optim.Adam(a.parameters(), lr=0.002, betas=(0.9, 0.999), eps=1e-08, amsgrad=True)
for _ in range(5):
    b = a(x)

    ## Ground truth for the output for leaf module
    b_gt = torch.ones_like(b)

    loss = torch.norm((b - b_gt).view(1, -1), p=2, dim=-1)
    opt.zero_grad()
    loss.backward()
    opt.step()
print('=' * 40)
print(a._complex_conv._kernel.data)
