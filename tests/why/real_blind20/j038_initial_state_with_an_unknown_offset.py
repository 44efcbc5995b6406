# https://github.com/lululxvi/deepxde/issues/2074
from functools import wraps

import torch
import torch.nn as nn

torch.manual_seed(0)


def Variable(initial_value):
    return torch.tensor(initial_value, requires_grad=True)


def jacobian(ys, xs, j):
    return torch.autograd.grad(ys, xs, grad_outputs=torch.ones_like(ys), create_graph=True)[0][:, j : j + 1]


def npfunc_range_autocache(func):
    """Call the function on the rows from beg to end, once for each input."""
    cache = {}

    @wraps(func)
    def wrapper_nocache(X, beg, end):
        return func(X[beg:end])

    @wraps(func)
    def wrapper_cache(X, beg, end):
        key = (id(X), beg, end)
        if key not in cache:
            cache[key] = func(X[beg:end])
        return cache[key]

    return wrapper_cache


class IC:
    """Initial conditions: y(x, t0) = func(x)."""

    def __init__(self, points, func):
        self.points, self.func = points, npfunc_range_autocache(func)

    def error(self, X, inputs, outputs, beg, end):
        values = self.func(X, beg, end)
        return outputs[beg:end] - values


class PointSetBC:
    def __init__(self, points, values):
        self.points, self.values = points, values

    def error(self, X, inputs, outputs, beg, end):
        return outputs[beg:end] - self.values


class FNN(nn.Module):
    def __init__(self, layer_sizes):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(i, o) for i, o in zip(layer_sizes[:-1], layer_sizes[1:])])

    def forward(self, x):
        for linear in self.linears[:-1]:
            x = torch.tanh(linear(x))
        return self.linears[-1](x)


class Model:
    def __init__(self, pde, bcs, domain_points, net):
        self.pde, self.bcs, self.net = pde, bcs, net
        self.num_bcs = [len(bc.points) for bc in bcs]
        self.train_x = torch.cat([bc.points for bc in bcs] + [domain_points])

    def compile(self, lr, external_trainable_variables):
        self.opt = torch.optim.Adam([*self.net.parameters(), *external_trainable_variables], lr=lr)

    def losses(self, X):
        inputs = X.clone().requires_grad_()
        outputs = self.net(inputs)
        errors, beg = [self.pde(inputs, outputs)[sum(self.num_bcs):]], 0
        for bc, num in zip(self.bcs, self.num_bcs):
            errors.append(bc.error(X, inputs, outputs, beg, beg + num))
            beg += num
        return torch.stack([error.square().mean() for error in errors])

    def train(self, iterations, display_every=200):
        for step in range(iterations):
            losses = self.losses(self.train_x)
            self.opt.zero_grad()
            losses.sum().backward()
            self.opt.step()
            if step % display_every == 0:
                print(step, [round(loss, 5) for loss in losses.tolist()], C.item())


# %%
C = Variable(1.0)


def pde(x, y):
    dy_t = jacobian(y, x, 1)
    dy_xx = jacobian(jacobian(y, x, 0), x, 0)
    return dy_t - dy_xx + torch.exp(-x[:, 1:]) * (torch.sin(torch.pi * x[:, 0:1]) * (1 - torch.pi**2))


def func(x):
    return torch.sin(torch.pi * x[:, 0:1]) * torch.exp(-x[:, 1:])


def initial(x):
    return func(x) + C


ic_points = torch.cat([2 * torch.rand(20, 1) - 1, torch.zeros(20, 1)], dim=1)
ic = IC(ic_points, initial)
bc_points = torch.cat([torch.sign(torch.rand(20, 1) - 0.5), torch.rand(20, 1)], dim=1)
bc = PointSetBC(bc_points, func(bc_points))
observe_x = torch.cat([torch.linspace(-1, 1, 20)[:, None], torch.rand(20, 1)], dim=1)
observe_y = PointSetBC(observe_x, func(observe_x))

# %%
domain_points = torch.rand(40, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
net = FNN([2] + [24] * 2 + [1])
model = Model(pde, [ic, bc, observe_y], domain_points, net)
model.compile(lr=0.01, external_trainable_variables=[C])
model.train(iterations=600)

# %%
test_x = model.train_x.clone()
print("train", model.losses(model.train_x).tolist())
print("test", model.losses(test_x).tolist())
print("C", C.item())
