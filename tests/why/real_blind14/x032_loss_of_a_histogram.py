# https://discuss.pytorch.org/t/differentiable-torch-histc/25865
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ToneNet(nn.Module):
    """Moves the values of an image."""

    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return 100 * torch.sigmoid(self.net(x[:, None] / 100).squeeze(1))


class HistogramLoss(nn.Module):
    def __init__(self, bins, min, max):
        super().__init__()
        self.bins, self.min, self.max = bins, min, max
        self.sigma = 6.0
        self.delta = float(max - min) / float(bins)
        self.centers = float(min) + self.delta * (torch.arange(bins).float() + 0.5)

    def gaussian(self, x):
        x = x[None, :] - self.centers[:, None]
        return (torch.exp(-0.5 * (x / self.sigma) ** 2) / (self.sigma * (2 * torch.pi) ** 0.5) * self.delta).sum(dim=1)

    def forward(self, x, wanted):
        hist = torch.histc(x, bins=self.bins, min=self.min, max=self.max)
        return F.mse_loss(hist / len(x), wanted / wanted.sum())


# %%
data = 50 + 25 * torch.randn(1000)
wanted = torch.histc(30 + 5 * torch.randn(1000), bins=10, min=0, max=100)
model = ToneNet()
criterion = HistogramLoss(bins=10, min=0, max=100)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(5):
    optimizer.zero_grad()
    loss = criterion(model(data), wanted)
    loss.backward()
    optimizer.step()
