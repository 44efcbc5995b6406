# https://github.com/locuslab/deq/blob/master/lib/solvers.py
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd

torch.manual_seed(0)


class ResNetLayer(nn.Module):
    def __init__(self, n_channels, n_inner):
        super().__init__()
        self.conv1 = nn.Linear(n_channels, n_inner, bias=False)
        self.conv2 = nn.Linear(n_inner, n_channels, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(n_inner), nn.LayerNorm(n_channels)
        self.conv1.weight.data.normal_(0, 0.01)
        self.conv2.weight.data.normal_(0, 0.01)

    def forward(self, z, x):
        y = self.norm1(F.relu(self.conv1(z)))
        return F.relu(z + self.norm2(x + self.conv2(y))) * 0.5


def forward_iteration(f, x0, max_iter=30, tol=1e-3):
    f0, res = f(x0), []
    for _ in range(max_iter):
        x = f0
        f0 = f(x)
        res.append((f0 - x).norm().item() / (1e-5 + f0.norm().item()))
        if res[-1] < tol:
            break
    return f0, res


class DEQFixedPoint(nn.Module):
    def __init__(self, f, solver):
        super().__init__()
        self.f, self.solver = f, solver

    def forward(self, x):
        with torch.no_grad():
            z, self.forward_res = self.solver(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g, self.backward_res = self.solver(
                lambda y: autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad
            )
            return g

        z.register_hook(backward_hook)
        return z


f = ResNetLayer(8, 12)
model = nn.Sequential(nn.Linear(6, 8), DEQFixedPoint(f, forward_iteration), nn.Linear(8, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
before = f.conv1.weight.detach().clone()

# %%
for _ in range(3):
    X, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    yp = model(X)
    loss = nn.CrossEntropyLoss()(yp, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), len(model[1].forward_res), len(model[1].backward_res))
