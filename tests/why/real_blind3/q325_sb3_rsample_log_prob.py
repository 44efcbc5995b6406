# https://github.com/DLR-RM/stable-baselines3/issues/2096
import torch as th
import torch.nn as nn
from torch.distributions import Normal

th.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()

        self.mean = nn.Linear(10, 2)

        self.log_std = nn.Parameter(th.Tensor(2))
        nn.init.constant_(self.log_std, 0)

    def density(self, state):
        actions_mean = self.mean(state)
        scale = self.log_std.exp().expand_as(actions_mean)
        return Normal(loc=actions_mean, scale=scale)

    def forward(self, state):
        density = self.density(state=state)
        actions = density.rsample()
        return actions, density.log_prob(actions).sum(dim=1)


# %%
model = Policy()
optimizer = th.optim.Adam(model.parameters(), lr=3e-4)

x = th.rand((5, 10))
advantages = th.randn(5)

# %%
_, log_prob = model(x)
loss = -(log_prob * advantages).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print('mean', model.mean.weight.grad)
print('log_std', model.log_std.grad)
