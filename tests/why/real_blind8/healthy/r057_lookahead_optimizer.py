# https://github.com/lonePatient/lookahead_pytorch/blob/master/optimizer.py
from collections import defaultdict
import torch
import torch.nn as nn

torch.manual_seed(0)


class Lookahead(torch.optim.Optimizer):
    def __init__(self, optimizer, alpha=0.5, k=6):
        self.optimizer = optimizer
        self.param_groups = self.optimizer.param_groups
        self.alpha = alpha
        self.k = k
        self.step_counter = 0
        self.state = defaultdict(dict)

        # Cache the current optimizer parameters
        for group in self.optimizer.param_groups:
            for p in group['params']:
                param_state = self.state[p]
                param_state['cached_params'] = torch.zeros_like(p.data)
                param_state['cached_params'].copy_(p.data)

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.step_counter += 1

        if self.step_counter >= self.k:
            self.step_counter = 0
            # Lookahead and cache the current optimizer parameters
            for group in self.optimizer.param_groups:
                for p in group['params']:
                    param_state = self.state[p]
                    p.data.mul_(self.alpha).add_(param_state['cached_params'], alpha=1.0 - self.alpha)
                    param_state['cached_params'].copy_(p.data)
        return loss


# %%
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))
base_optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
optimizer = Lookahead(base_optimizer, k=3, alpha=0.5)

# %%
X = torch.randn(40, 10)
Y = X[:, :1] * 2
for i in range(9):
    loss = ((model(X) - Y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
