# https://github.com/kornia/kornia/issues/1579
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def create_meshgrid(height, width, normalized_coordinates=False):
    xs = torch.linspace(0, width - 1, width)
    ys = torch.linspace(0, height - 1, height)
    base_grid = torch.stack(torch.meshgrid([xs, ys], indexing="ij"), dim=-1)
    return base_grid.permute(1, 0, 2).unsqueeze(0)


def filter2d(input, kernel, border_type='replicate'):
    b, c, h, w = input.shape
    height, width = kernel.shape[-2:]
    padding_shape = [width // 2, width // 2, height // 2, height // 2]
    input = F.pad(input, padding_shape, mode=border_type)
    tmp_kernel = kernel.unsqueeze(1).expand(c, 1, height, width)
    return F.conv2d(input, tmp_kernel, groups=c).view(b, c, h, w)


def distance_transform(image, kernel_size=3, h=0.35):
    r"""Approximates the Manhattan distance transform of images using cascaded convolution operations."""
    n_iters = math.ceil(max(image.shape[2], image.shape[3]) / math.floor(kernel_size / 2))
    grid = create_meshgrid(kernel_size, kernel_size)
    grid -= math.floor(kernel_size / 2)
    kernel = torch.hypot(grid[0, :, :, 0], grid[0, :, :, 1])
    kernel = torch.exp(kernel / -h).unsqueeze(0)

    out = torch.zeros_like(image)

    # It is possible to avoid cloning the image if boundary = image, but this would require modifying the image tensor.
    boundary = image.clone()
    signal_ones = torch.ones_like(boundary)

    for i in range(n_iters):
        cdt = filter2d(boundary, kernel, border_type='replicate')
        cdt = -h * torch.log(cdt)

        # We are calculating log(0) above.
        cdt = torch.nan_to_num(cdt, posinf=0.0)

        mask = cdt > 0
        if mask.sum() == 0:
            break

        offset = i * kernel_size // 2
        out += (offset + cdt) * mask
        boundary[mask == 1] = signal_ones[mask == 1]

    return out


class Sketcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 16 * 16), nn.Sigmoid())

    def forward(self, z):
        return self.net(z).view(-1, 1, 16, 16)


# %%
mse_loss = nn.MSELoss()
model = Sketcher()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
z = torch.randn(4, 8)
b = torch.rand(4, 1, 16, 16)
with torch.no_grad():
    print('loss of pixels', mse_loss(model(z), b).item())

# %%
for step in range(3):
    a = model(z)
    a_dist = distance_transform(a)
    b_dist = distance_transform(b)
    loss = mse_loss(a_dist, b_dist)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
