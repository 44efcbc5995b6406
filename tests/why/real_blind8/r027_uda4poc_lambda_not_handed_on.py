# https://github.com/p2irc/UDA4POC/issues/3
import math
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)


class GradientReversalFn(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class Adaptation(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(4 * 16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, grl_lambda=1):
        x = GradientReversalFn.apply(x, grl_lambda)
        return self.net(x)


class CountEstimate(nn.Module):
    def __init__(self):
        super().__init__()
        self.downsample = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU())
        self.upsample = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(4, 1, 3, padding=1))
        self.adapt = Adaptation()

    def forward(self, x, grl_lambda=1):
        x11 = self.downsample(x)
        x2 = self.upsample(x11)
        x3 = self.adapt(x11)
        return x2, x3


# %%
model = CountEstimate()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion_domain = nn.BCEWithLogitsLoss()
n_epochs, max_batches = 2, 2

# %%
for epoch_idx in range(n_epochs):
    for batch_idx in range(max_batches):
        # Training progress and GRL lambda
        p = float(batch_idx + epoch_idx * max_batches) / (n_epochs * max_batches)
        grl_lambda = 2. / (1. + math.exp(-10 * p)) - 1
        X_s, y_s, X_t = torch.rand(4, 3, 8, 8), torch.rand(4, 1, 8, 8), torch.rand(4, 3, 8, 8) + 0.5

        optimizer.zero_grad()
        density, domain_s = model(X_s, grl_lambda)
        _, domain_t = model(X_t, grl_lambda)
        loss_s_domain = criterion_domain(domain_s, torch.zeros(4, 1))
        loss_t_domain = criterion_domain(domain_t, torch.ones(4, 1))
        loss_y = ((density - y_s) ** 2).mean()
        if batch_idx == 0 and epoch_idx == 0:
            reversed_grad = torch.autograd.grad(loss_t_domain, model.downsample[0].weight, retain_graph=True)[0]
            print("lambda", grl_lambda, "gradient of the features", reversed_grad.norm())
        loss = loss_y + loss_s_domain + loss_t_domain
        loss.backward()
        optimizer.step()
