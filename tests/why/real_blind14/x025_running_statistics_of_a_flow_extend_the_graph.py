# https://github.com/bayesiains/nflows/issues/10
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BatchNorm(nn.Module):
    """Transform that performs batch normalization."""

    def __init__(self, features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        constant = np.log(np.exp(1 - eps) - 1)
        self.unconstrained_weight = nn.Parameter(constant * torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.zeros(features))

    @property
    def weight(self):
        return F.softplus(self.unconstrained_weight) + self.eps

    def forward(self, inputs):
        if self.training:
            mean, var = inputs.mean(0), inputs.var(0)
            self.running_mean.mul_(1 - self.momentum).add_(mean * self.momentum)
            self.running_var.mul_(1 - self.momentum).add_(var * self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        outputs = self.weight * ((inputs - mean) / torch.sqrt(var + self.eps)) + self.bias
        logabsdet = torch.log(self.weight) - 0.5 * torch.log(var + self.eps)
        return outputs, torch.sum(logabsdet) * torch.ones(inputs.shape[0])


class AffineCoupling(nn.Module):
    def __init__(self, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, inputs):
        a, b = inputs.flip(1).chunk(2, dim=1) if self.flip else inputs.chunk(2, dim=1)
        log_scale, shift = self.net(a).chunk(2, dim=1)
        log_scale = torch.tanh(log_scale)
        return torch.cat([a, b * log_scale.exp() + shift], dim=1), log_scale.squeeze(1)


class SimpleRealNVP(nn.Module):
    def __init__(self, hidden_features=32, num_layers=2):
        super().__init__()
        self.transforms = nn.ModuleList()
        for i in range(num_layers):
            self.transforms.append(AffineCoupling(hidden_features, flip=i % 2 == 1))
            self.transforms.append(BatchNorm(2))

    def log_prob(self, inputs):
        total = 0
        for transform in self.transforms:
            inputs, logabsdet = transform(inputs)
            total = total + logabsdet
        return torch.distributions.Normal(0.0, 1.0).log_prob(inputs).sum(1) + total


# %%
flow = SimpleRealNVP()
optimizer = torch.optim.Adam(flow.parameters())
for i in range(50):
    angle = 3.1416 * torch.rand(128)
    x = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.1 * torch.randn(128, 2)
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
print(loss.item(), flow.transforms[1].running_mean)
