# https://github.com/lululxvi/deepxde/issues/1612
from functools import wraps

import torch
import torch.nn as nn

torch.manual_seed(0)


def Variable(initial_value):
    return torch.tensor(initial_value, requires_grad=True)


def jacobian(ys, xs):
    return torch.autograd.grad(ys, xs, grad_outputs=torch.ones_like(ys), create_graph=True)[0]


def hessian(ys, xs):
    return jacobian(jacobian(ys, xs), xs)


def npfunc_range_autocache(func):
    """Call the function on the rows from beg to end, once for each input."""
    cache = {}

    @wraps(func)
    def wrapper_cache(X, beg, end):
        key = (id(X), beg, end)
        if key not in cache:
            cache[key] = func(X[beg:end])
        return cache[key]

    return wrapper_cache


class Interval:
    def __init__(self, l, r):
        self.l, self.r = l, r

    def uniform_points(self, n):
        return torch.linspace(self.l, self.r, n + 2)[1:-1, None]

    def boundary_normal(self, x):
        return -torch.isclose(x, torch.tensor(self.l)).float() + torch.isclose(x, torch.tensor(self.r)).float()


class NeumannBC:
    """Neumann boundary conditions: dy/dn(x) = func(x)."""

    def __init__(self, geom, func, points):
        self.geom, self.points, self.func = geom, points, npfunc_range_autocache(func)

    def error(self, X, inputs, outputs, beg, end):
        values = self.func(X, beg, end)
        return (jacobian(outputs, inputs) * self.geom.boundary_normal(inputs))[beg:end] - values


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
    def __init__(self, geom, pde, bcs, num_domain, net):
        self.pde, self.bcs, self.net = pde, bcs, net
        self.num_bcs = [len(bc.points) for bc in bcs]
        self.train_x = torch.cat([bc.points for bc in bcs] + [geom.uniform_points(num_domain)])

    def compile(self, lr, external_trainable_variables):
        self.external_trainable_variables = external_trainable_variables
        self.opt = torch.optim.Adam([*self.net.parameters(), *external_trainable_variables], lr=lr)

    def train(self, iterations):
        for step in range(iterations):
            inputs = self.train_x.clone().requires_grad_()
            outputs = self.net(inputs)
            errors, beg = [self.pde(inputs, outputs)[sum(self.num_bcs):]], 0
            for bc, num in zip(self.bcs, self.num_bcs):
                errors.append(bc.error(self.train_x, inputs, outputs, beg, beg + num))
                beg += num
            total_loss = sum(error.square().mean() for error in errors)
            self.opt.zero_grad()
            total_loss.backward()
            self.opt.step()
            if step % 500 == 0:
                print(step, total_loss.item(), [v.item() for v in self.external_trainable_variables])


# %%
L, D = 0.5, 1.5
C1 = Variable(0.1)  # The parameter to be solved


def pde(x, y):
    dy_xx = hessian(y, x)
    return dy_xx - y / L**2


geom = Interval(0.0, 1.0)
bc = NeumannBC(geom, lambda x: C1 / (2 * D), torch.tensor([[0.0]]))  # C1 is embeded in this boundary condition
observe_x = torch.linspace(0, 1, 10)[:, None]
observe_y = PointSetBC(observe_x, torch.exp(-observe_x / L))

# %%
net = FNN([1] + [20] * 3 + [1])
model = Model(geom, pde, [bc, observe_y], num_domain=30, net=net)
external_trainable_variables = [C1]
model.compile(lr=0.001, external_trainable_variables=external_trainable_variables)

# %%
model.train(iterations=10)
