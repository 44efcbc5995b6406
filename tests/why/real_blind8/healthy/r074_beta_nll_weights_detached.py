# https://github.com/martius-lab/beta-nll
import torch
import torch.nn as nn

torch.manual_seed(0)


def beta_nll_loss(mean, variance, target, beta=0.5):
    """Compute beta-NLL loss"""
    loss = 0.5 * ((target - mean) ** 2 / variance + variance.log())

    if beta > 0:
        loss = loss * (variance.detach() ** beta)

    return loss.sum(axis=-1)


class GaussianMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mean, self.var = nn.Sequential(nn.Linear(1, 32), nn.Tanh()), nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), nn.functional.softplus(self.var(h)) + 1e-6


# %%
model = GaussianMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

# %%
for step in range(20):
    x = torch.rand(64, 1) * 12
    y = 0.4 * torch.sin(2 * torch.pi * x) + 0.01 * torch.randn_like(x)
    mean, variance = model(x)
    loss = beta_nll_loss(mean, variance, y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
