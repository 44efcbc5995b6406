# https://github.com/jankrepl/deepdow/pull/106
import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal

torch.manual_seed(4)


class SoftmaxAllocator(nn.Module):
    def __init__(self, temperature=1.0):
        super().__init__()
        self.temperature = temperature

    def forward(self, x):
        return torch.softmax(x / self.temperature, dim=1)


class Resample(nn.Module):
    """Weights that are averaged over draws from the estimated distribution of the returns."""

    def __init__(self, allocator, n_draws=20, n_portfolios=5):
        super().__init__()
        self.allocator, self.n_draws, self.n_portfolios = allocator, n_draws, n_portfolios

    def forward(self, matrix, rets):
        covmat = matrix @ matrix.transpose(1, 2)
        dist = MultivariateNormal(loc=rets, covariance_matrix=covmat)
        portfolios = []
        for _ in range(self.n_portfolios):
            draws = dist.sample((self.n_draws,))
            portfolios.append(self.allocator(draws.mean(dim=0)))
        return torch.stack(portfolios, dim=0).mean(dim=0)


class ResampleNet(nn.Module):
    def __init__(self, n_assets=4, lookback=10):
        super().__init__()
        self.norm_layer = nn.BatchNorm1d(n_assets, affine=False)
        self.exp_rets = nn.Linear(lookback, 1)
        self.scale = nn.Parameter(torch.zeros(n_assets))
        self.allocate_layer = nn.Linear(n_assets, n_assets)
        self.portfolio_opt_layer = Resample(SoftmaxAllocator())

    def forward(self, x):
        x = self.norm_layer(x.transpose(1, 2)).transpose(1, 2)
        rets = self.exp_rets(x.transpose(1, 2)).squeeze(-1)
        matrix = torch.diag_embed(self.scale.exp()).expand(len(x), -1, -1)
        weights = self.portfolio_opt_layer(matrix, rets)
        return torch.softmax(self.allocate_layer(weights), dim=1)


def mean_returns_loss(weights, y):
    return -(weights.unsqueeze(1) * y).sum(-1).mean()


# %%
network = ResampleNet()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
X, y = torch.randn(16, 10, 4), 0.01 * torch.randn(16, 5, 4)

# %%
for epoch in range(3):
    weights = network(X)
    loss = mean_returns_loss(weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
