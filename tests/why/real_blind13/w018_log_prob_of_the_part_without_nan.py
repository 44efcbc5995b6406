# https://github.com/pytorch/pytorch/issues/15131
import numpy as np
import torch
import torch.nn as nn
import torch.distributions as dist

torch.manual_seed(0)


class Line(nn.Module):
    """y is normal around k * x."""

    def __init__(self):
        super().__init__()
        self.k = nn.Parameter(0.01 * torch.randn(1))

    def forward(self, x):
        return dist.Normal(loc=self.k * x, scale=1, validate_args=False)


x = torch.tensor([1.0, 2, 3, np.nan])
y = torch.tensor([1.0, 2, 3, 4])

# %%
model = Line()
k = model.k
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(5):
    d = model(x)
    log_prob = d.log_prob(y)
    loss = -log_prob[:-1].mean()
    optimizer.zero_grad()
    loss.backward()
    print(step, loss.item(), k.grad)
    optimizer.step()
