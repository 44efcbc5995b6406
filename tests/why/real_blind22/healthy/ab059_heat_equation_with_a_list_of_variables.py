# https://discuss.pytorch.org/t/efficient-calculation-of-derivatives-for-pinn-solvers-in-pytorch/177249
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


def diff(y, xs):
    grad = y
    ones = torch.ones_like(y)
    for x in xs:
        grad = torch.autograd.grad(grad, x, grad_outputs=ones, create_graph=True)[0]
    return grad


class Model(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, inputs):
        return self.net(torch.cat(inputs, dim=1))


def heat(u, x, t):
    alpha = 10.0
    return diff(u, [x, x]) - alpha * diff(u, [t])


# %%
N = 200
x = torch.rand(N, 1, requires_grad=True)
t = torch.rand(N, 1, requires_grad=True)
x0, t0 = torch.rand(50, 1), torch.zeros(50, 1)
xb, tb = torch.cat([torch.zeros(25, 1), torch.ones(25, 1)]), torch.rand(50, 1)

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

# %%
losses = []
for epoch in range(500):
    u = model([x, t])
    residual = heat(u, x, t).pow(2).mean()
    initial = (model([x0, t0]) - torch.sin(math.pi * x0)).pow(2).mean()
    boundary = model([xb, tb]).pow(2).mean()
    loss = 0.02 * residual + initial + boundary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if epoch % 100 == 0:
        print(epoch, residual.item(), initial.item(), boundary.item())

# %%
with torch.no_grad():
    exact = torch.exp(-0.1 * math.pi ** 2 * t) * torch.sin(math.pi * x)
    error = (model([x, t]) - exact).abs().mean().item()
print(losses[0], losses[-1], error)
