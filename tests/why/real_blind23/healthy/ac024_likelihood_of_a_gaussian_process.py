# https://github.com/cornellius-gp/gpytorch/blob/main/examples/01_Exact_GPs/Simple_GP_Regression.ipynb
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GaussianLikelihood(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_noise = nn.Parameter(torch.zeros(1))

    @property
    def noise(self):
        return F.softplus(self.raw_noise) + 1e-4

    def forward(self, mean, covar):
        return mean, covar + self.noise * torch.eye(len(mean))


class RBFKernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.zeros(1, 1))

    @property
    def lengthscale(self):
        return F.softplus(self.raw_lengthscale)

    def forward(self, x1, x2):
        x1_, x2_ = x1.div(self.lengthscale.squeeze()), x2.div(self.lengthscale.squeeze())
        return (x1_[:, None] - x2_[None]).pow(2).div(-2).exp()


class ScaleKernel(nn.Module):
    def __init__(self, base_kernel):
        super().__init__()
        self.base_kernel = base_kernel
        self.raw_outputscale = nn.Parameter(torch.zeros(()))

    def forward(self, x1, x2):
        return F.softplus(self.raw_outputscale) * self.base_kernel(x1, x2)


class ExactGPModel(nn.Module):
    def __init__(self, train_x, train_y, likelihood):
        super().__init__()
        self.train_inputs, self.train_targets = train_x, train_y
        self.likelihood = likelihood
        self.mean_module = nn.ParameterDict({"raw_constant": nn.Parameter(torch.zeros(()))})
        self.covar_module = ScaleKernel(RBFKernel())

    def forward(self, x):
        if self.training:
            return self.mean_module["raw_constant"].expand(len(x)), self.covar_module(x, x)
        mean, covar = self.likelihood(
            self.mean_module["raw_constant"].expand(len(self.train_inputs)),
            self.covar_module(self.train_inputs, self.train_inputs))
        cross = self.covar_module(x, self.train_inputs)
        L = torch.linalg.cholesky(covar)
        alpha = torch.cholesky_solve((self.train_targets - mean)[:, None], L)
        predictive = self.covar_module(x, x) - cross @ torch.cholesky_solve(cross.T, L)
        return self.mean_module["raw_constant"] + (cross @ alpha).squeeze(1), predictive


class ExactMarginalLogLikelihood(nn.Module):
    def __init__(self, likelihood, model):
        super().__init__()
        self.likelihood, self.model = likelihood, model

    def forward(self, output, target):
        mean, covar = self.likelihood(*output)
        L = torch.linalg.cholesky(covar)
        diff = target - mean
        inv_quad = (diff * torch.cholesky_solve(diff[:, None], L).squeeze(1)).sum()
        logdet = 2 * L.diagonal().log().sum()
        return -0.5 * (inv_quad + logdet + len(target) * math.log(2 * math.pi)) / len(target)


# %%
train_x = torch.linspace(0, 1, 60)
train_y = torch.sin(train_x * (2 * math.pi)) + torch.randn(60) * math.sqrt(0.04)
likelihood = GaussianLikelihood()
model = ExactGPModel(train_x, train_y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = ExactMarginalLogLikelihood(likelihood, model)

# %%
training_iter, losses = 60, []
for i in range(training_iter):
    optimizer.zero_grad()
    output = model(train_x)
    loss = -mll(output, train_y)
    loss.backward()
    losses.append(loss.item())
    optimizer.step()

# %%
model.eval()
likelihood.eval()
with torch.no_grad():
    test_x = torch.linspace(0, 1, 51)
    observed_pred, _ = model(test_x)
error = (observed_pred - torch.sin(test_x * (2 * math.pi))).abs().max().item()
print(losses[0], losses[-1], likelihood.noise.item(), model.covar_module.base_kernel.lengthscale.item(), error)
