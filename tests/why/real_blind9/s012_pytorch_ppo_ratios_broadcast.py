# https://github.com/pytorch/pytorch/issues/2598
import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.optim import Adam
import torch.nn.functional as F

import numpy as np

torch.manual_seed(0)


class GaussianMLP(nn.Module):
    def __init__(self, obs_dim, action_dim):

        super(GaussianMLP, self).__init__()

        self.hidden_layer = nn.Linear(obs_dim, 8)

        self.means = nn.Linear(8, action_dim)

        self.log_stds = nn.Parameter(
            torch.ones(1, action_dim)
        )

    def forward(self, x):
        x = F.tanh(self.hidden_layer(x))

        means = self.means(x)

        log_stds = self.log_stds.expand_as(means)

        stds = torch.exp(log_stds)

        return means, log_stds, stds

    def log_likelihood(self, x, means, log_stds, stds):
        var = stds.pow(2)

        log_density = -(x - means).pow(2) / (
            2 * var) - 0.5 * np.log(2 * np.pi) - log_stds

        return log_density.sum(1)


# %%
policy = GaussianMLP(3, 2)
optimizer = Adam(policy.parameters(), lr=1e-2)
observations = Variable(torch.randn(64, 3))
means, log_stds, stds = policy(observations)
actions = (means + stds * torch.randn(64, 2)).detach()
old_logprobs = policy.log_likelihood(actions, means, log_stds, stds).detach()
advantages = -(actions - observations[:, :2]).pow(2).sum(1, keepdim=True)
advantages = (advantages - advantages.mean()) / advantages.std()

# %%
for epoch in range(10):
    means, log_stds, stds = policy(observations)
    ratio = torch.exp(policy.log_likelihood(actions, means, log_stds, stds) - old_logprobs)
    surr_loss = -(ratio * advantages).mean()
    optimizer.zero_grad()
    surr_loss.backward()
    optimizer.step()
    print(epoch, surr_loss.item())
