# https://github.com/karlstratos/doe/issues/1
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


def gauss_cross_entropy(Y, mu, ln_var):
    inside = (Y - mu) ** 2 / ln_var.exp() + ln_var + math.log(2 * math.pi)
    return 0.5 * inside.sum(1).mean()


class Marginal(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mu = nn.Embedding(1, dim)
        self.ln_var = nn.Embedding(1, dim)

    def forward(self, Y):
        return gauss_cross_entropy(Y, self.mu.weight, self.ln_var.weight)


class Conditional(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.X2Y = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 2 * dim))

    def forward(self, Y, X):
        mu, ln_var = self.X2Y(X).chunk(2, dim=1)
        return gauss_cross_entropy(Y, mu, ln_var)


class DoE(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.qY = Marginal(dim)
        self.qY_X = Conditional(dim, hidden)

    def forward(self, X, Y):
        hY = self.qY(Y)
        hY_X = self.qY_X(Y, X)
        loss = hY + hY_X
        mi_loss = hY_X - hY
        return (mi_loss - loss).detach() + loss


class CorrelatedNormals:
    def __init__(self, dim, rho):
        self.dim, self.rho = dim, rho

    def I(self):
        return -self.dim / 2 * math.log(1 - self.rho ** 2)

    def draw_samples(self, n):
        X = torch.randn(n, self.dim)
        return X, self.rho * X + math.sqrt(1 - self.rho ** 2) * torch.randn(n, self.dim)


# %%
pXY = CorrelatedNormals(dim=4, rho=0.8)
model = DoE(dim=4, hidden=32)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
mi_estimates = []

# %%
for step in range(1, 601):
    optimizer.zero_grad()
    X, Y = pXY.draw_samples(64)
    loss = model(X, Y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10)
    optimizer.step()
    mi_estimates.append(-loss.item())
mi = sum(mi_estimates[-100:]) / 100
print('estimated', mi, 'true', pXY.I())

# %%
X, Y = pXY.draw_samples(256)
as_trained = torch.autograd.grad(model(X, Y), list(model.parameters()))
as_summed = torch.autograd.grad(model.qY(Y) + model.qY_X(Y, X), list(model.parameters()))
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(as_trained, as_summed))
assert abs(mi - pXY.I()) < 0.3
