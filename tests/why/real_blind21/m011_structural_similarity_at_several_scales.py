# https://github.com/One-sixth/ms_ssim_pytorch/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def create_window(window_size, sigma):
    coords = torch.arange(window_size, dtype=torch.float)
    coords -= window_size // 2
    g = torch.exp(-(coords ** 2) / (2 * sigma ** 2))
    g /= g.sum()
    return g.reshape(1, 1, 1, -1)


def _gaussian_filter(x, window_1d):
    C = x.shape[1]
    out = F.conv2d(x, window_1d, stride=1, groups=C)
    return F.conv2d(out, window_1d.transpose(2, 3), stride=1, groups=C)


def ssim(X, Y, window, data_range):
    K1, K2 = 0.01, 0.03
    C1 = (K1 * data_range) ** 2
    C2 = (K2 * data_range) ** 2

    mu1 = _gaussian_filter(X, window)
    mu2 = _gaussian_filter(Y, window)
    mu1_sq, mu2_sq, mu1_mu2 = mu1.pow(2), mu2.pow(2), mu1 * mu2
    sigma1_sq = _gaussian_filter(X * X, window) - mu1_sq
    sigma2_sq = _gaussian_filter(Y * Y, window) - mu2_sq
    sigma12 = _gaussian_filter(X * Y, window) - mu1_mu2

    cs_map = (2 * sigma12 + C2) / (sigma1_sq + sigma2_sq + C2)
    # Fixed the issue that the negative value of cs_map caused ms_ssim to output Nan.
    cs_map = cs_map.clamp_min(0.)
    ssim_map = ((2 * mu1_mu2 + C1) / (mu1_sq + mu2_sq + C1)) * cs_map

    ssim_val = ssim_map.mean(dim=(1, 2, 3))  # reduce along CHW
    cs = cs_map.mean(dim=(1, 2, 3))
    return ssim_val, cs


class MS_SSIM(nn.Module):
    def __init__(self, window_size=5, window_sigma=1.5, data_range=255., weights=(0.0448, 0.2856, 0.3001)):
        super().__init__()
        assert window_size % 2 == 1, 'Window size must be odd.'
        self.register_buffer('window', create_window(window_size, window_sigma))
        self.data_range = data_range
        weights = torch.tensor(weights, dtype=torch.float)
        self.register_buffer('weights', weights / weights.sum())

    def forward(self, X, Y):
        cs_vals = []
        ssim_vals = []
        window = self.window.expand(X.shape[1], -1, -1, -1)
        for _ in range(len(self.weights)):
            ssim_val, cs = ssim(X, Y, window, self.data_range)
            cs_vals.append(cs)
            ssim_vals.append(ssim_val)
            X = F.avg_pool2d(X, kernel_size=2, stride=2)
            Y = F.avg_pool2d(Y, kernel_size=2, stride=2)

        cs_vals = torch.stack(cs_vals, dim=0)
        return torch.prod((cs_vals[:-1] ** self.weights[:-1].unsqueeze(1)) * (ssim_vals[-1] ** self.weights[-1]), dim=0)


# %%
images = F.interpolate(torch.rand(8, 1, 5, 5), size=32, mode='bicubic', align_corners=True).clamp(0, 1)
noisy = images + 0.1 * torch.randn_like(images)

net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
    nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
    nn.Conv2d(8, 1, 3, padding=1),
)
losser = MS_SSIM(data_range=1.)
optim = torch.optim.Adam(net.parameters(), 0.003, eps=1e-8)

# %%
for step in range(20):
    optim.zero_grad()
    out = net(noisy)
    loss = 1 - losser(out, images).mean()
    loss.backward()
    optim.step()
    print(step, loss.item())
