# https://github.com/kornia/kornia/issues/1554
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def gaussian_blur2d(input, kernel_size=5, sigma=1.0):
    x = torch.arange(kernel_size) - kernel_size // 2
    g = torch.exp(-x.float() ** 2 / (2 * sigma ** 2))
    g = g / g.sum()
    input = F.pad(input, [kernel_size // 2] * 4, mode='reflect')
    return F.conv2d(F.conv2d(input, g.view(1, 1, 1, -1)), g.view(1, 1, -1, 1))


def spatial_gradient(input):
    kernel = torch.tensor([[-1., 0., 1.], [-2., 0., 2.], [-1., 0., 1.]]) / 8
    kernels = torch.stack([kernel, kernel.t()])[:, None]
    return F.conv2d(F.pad(input, [1] * 4, mode='replicate'), kernels)


def get_canny_nms_kernel():
    kernels = torch.zeros(8, 1, 3, 3)
    around = [(1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0), (0, 1), (0, 2)]
    for i, (y, x) in enumerate(around):
        kernels[i, 0, 1, 1], kernels[i, 0, y, x] = 1, -1
    return kernels


def get_hysteresis_kernel():
    kernels = torch.zeros(8, 1, 3, 3)
    for i, at in enumerate([0, 1, 2, 3, 5, 6, 7, 8]):
        kernels[i, 0, at // 3, at % 3] = 1
    return kernels


class Canny(nn.Module):
    def __init__(self, low_threshold=0.1, high_threshold=0.2, hysteresis=True, eps=1e-6):
        super().__init__()
        self.low_threshold, self.high_threshold = low_threshold, high_threshold
        self.hysteresis, self.eps = hysteresis, eps

    def forward(self, input):
        gradients = spatial_gradient(gaussian_blur2d(input))
        gx, gy = gradients[:, :1], gradients[:, 1:]
        magnitude = torch.sqrt(gx * gx + gy * gy + self.eps)
        angle = torch.round(180.0 * torch.atan2(gy, gx) / math.pi / 45) * 45

        # Non-maximal suppression
        nms_magnitude = F.conv2d(magnitude, get_canny_nms_kernel(), padding=1)
        positive_idx = ((angle / 45) % 8).long()
        negative_idx = ((angle / 45 + 4) % 8).long()
        channel_select_filtered_positive = torch.gather(nms_magnitude, 1, positive_idx)
        channel_select_filtered_negative = torch.gather(nms_magnitude, 1, negative_idx)
        is_max = torch.minimum(channel_select_filtered_positive, channel_select_filtered_negative) > 0.0
        magnitude = magnitude * is_max

        # Threshold
        low = magnitude > self.low_threshold
        high = magnitude > self.high_threshold
        edges = low * 0.5 + high * 0.5

        # Hysteresis
        if self.hysteresis:
            edges_old = -torch.ones(edges.shape)
            while ((edges_old - edges).abs() != 0).any():
                weak = (edges == 0.5).float()
                strong = (edges == 1).float()
                hysteresis_magnitude = F.conv2d(edges, get_hysteresis_kernel(), padding=1)
                hysteresis_magnitude = (hysteresis_magnitude == 1).any(1, keepdim=True).to(edges.dtype)
                hysteresis_magnitude = hysteresis_magnitude * weak + strong
                edges_old = edges.clone()
                edges = hysteresis_magnitude + (hysteresis_magnitude == 0) * weak * 0.5
        return magnitude, edges


# %%
def squares(n, size=24):
    images = torch.zeros(n, 1, size, size)
    for image in images:
        y, x = torch.randint(3, 10, (2,)).tolist()
        image[:, y:y + 10, x:x + 10] = 1.0
    return images


generator = nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3, 1, 1), nn.Sigmoid())
canny = Canny(low_threshold=0.05, high_threshold=0.1)
optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2)
real = squares(8)
sketch = real + 0.3 * torch.randn_like(real)

# %%
for step in range(20):
    fake = generator(sketch)
    _, edges_real = canny(real)
    _, edges_fake = canny(fake)
    rec_loss = F.l1_loss(fake, real)
    edge_loss = F.l1_loss(edges_fake, edges_real)
    loss = rec_loss + 10.0 * edge_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, rec_loss.item(), edge_loss.item())

# %%
print('edge loss', edge_loss.requires_grad, 'edges', edges_fake.unique(), edges_fake.requires_grad)
