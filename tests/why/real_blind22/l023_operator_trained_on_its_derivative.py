# https://github.com/neuraloperator/neuraloperator/issues/192
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class SpectralConv1d(nn.Module):
    def __init__(self, channels, n_modes):
        super().__init__()
        self.n_modes = n_modes
        scale = 1 / channels
        self.weight = nn.Parameter(scale * torch.randn(channels, channels, n_modes, dtype=torch.cfloat))

    def forward(self, x):
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros_like(x_ft)
        out_ft = torch.cat([torch.einsum("bix,iox->box", x_ft[..., :self.n_modes], self.weight),
                            out_ft[..., self.n_modes:]], dim=-1)
        return torch.fft.irfft(out_ft, n=x.shape[-1])


class FNO1d(nn.Module):
    def __init__(self, n_modes_height=6, hidden_channels=8, in_channels=2, out_channels=1, n_layers=1):
        super().__init__()
        self.lifting = nn.Conv1d(in_channels, hidden_channels, 1)
        self.spectral = nn.ModuleList([SpectralConv1d(hidden_channels, n_modes_height) for _ in range(n_layers)])
        self.skips = nn.ModuleList([nn.Conv1d(hidden_channels, hidden_channels, 1) for _ in range(n_layers)])
        self.projection = nn.Sequential(nn.Conv1d(hidden_channels, 24, 1), nn.GELU(), nn.Conv1d(24, out_channels, 1))

    def forward(self, x):
        x = self.lifting(x)
        for spectral, skip in zip(self.spectral, self.skips):
            x = nn.functional.gelu(spectral(x) + skip(x))
        return self.projection(x)


# %%
n_points = 16
k = torch.linspace(0, 1, 6).reshape(-1, 1, 1)
x = (torch.arange(n_points) / n_points).reshape(1, 1, -1).repeat(len(k), 1, 1)
K = k.repeat(1, 1, n_points)
y_true = 0.5 + 0.5 * K * torch.cos(2 * math.pi * x)
dy_true = -0.5 * K * (2 * math.pi) * torch.sin(2 * math.pi * x)

# %%
model = FNO1d()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
mse = nn.MSELoss()
x.requires_grad_(True)
losses = []
for epoch in range(60):
    optimizer.zero_grad()
    y_pred = model(torch.cat([x, K], dim=1))
    dy_pred = torch.autograd.grad(y_pred, x, grad_outputs=torch.ones_like(y_pred), create_graph=True)[0]
    loss_bc = mse(y_pred[..., 0], y_true[..., 0])
    loss = mse(dy_pred, dy_true) + 10 * loss_bc
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if epoch % 20 == 0:
        print(epoch, loss.item())

# %%
error = (model(torch.cat([x, K], dim=1)) - y_true).abs().mean().item()
print(losses[-1], error)
