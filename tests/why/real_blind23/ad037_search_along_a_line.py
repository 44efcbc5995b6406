# https://github.com/nlesc-dirac/pytorch/issues/2
import contextlib
import math

import torch
import torch.nn as nn
from torch.optim.optimizer import Optimizer

torch.manual_seed(0)


class LBFGSNew(Optimizer):
    def __init__(self, params, lr=1, max_iter=10, history_size=7, line_search_fn=False,
                 batch_mode=False, cost_use_gradient=False):
        defaults = dict(lr=lr, max_iter=max_iter, history_size=history_size, line_search_fn=line_search_fn,
                        batch_mode=batch_mode, cost_use_gradient=cost_use_gradient)
        super(LBFGSNew, self).__init__(params, defaults)
        self._params = self.param_groups[0]['params']

    def _gather_flat_grad(self):
        return torch.cat([p.grad.data.contiguous().view(-1) for p in self._params], 0)

    def _add_grad(self, step_size, update):
        offset = 0
        for p in self._params:
            numel = p.numel()
            p.data.add_(update[offset:offset + numel].view_as(p.data), alpha=step_size)
            offset += numel

    def _copy_params_out(self):
        return torch.cat([p.data.clone().contiguous().view(-1) for p in self._params], 0)

    def _copy_params_in(self, new_params):
        offset = 0
        for p in self._params:
            numel = p.numel()
            p.data.copy_(new_params[offset:offset + numel].view_as(p.data))
            offset += numel

    def _linesearch_backtrack(self, closure, pk, gk, alphabar):
        c1, citer, alphak = 1e-4, 35, alphabar
        xk = self._copy_params_out()
        f_old = float(closure())
        self._add_grad(alphak, pk)
        f_new = float(closure())
        prodterm = c1 * (gk.dot(pk))
        ci = 0
        while ci < citer and (math.isnan(f_new) or f_new > f_old + alphak * prodterm):
            alphak = 0.5 * alphak
            self._copy_params_in(xk)
            self._add_grad(alphak, pk)
            f_new = float(closure())
            ci = ci + 1
        self._copy_params_in(xk)
        return alphak

    def step(self, closure):
        group = self.param_groups[0]
        old_dirs, old_stps = [], []
        loss = closure()
        flat_grad = self._gather_flat_grad()
        for n_iter in range(group['max_iter']):
            d = flat_grad.neg()
            al = []
            for y, s in zip(reversed(old_dirs), reversed(old_stps)):
                al.append(s.dot(d) / y.dot(s))
                d.add_(y, alpha=-al[-1].item())
            for y, s, a in zip(old_dirs, old_stps, reversed(al)):
                d.add_(s, alpha=(a - y.dot(d) / y.dot(s)).item())
            prev_flat_grad = flat_grad
            if group['line_search_fn']:
                guard = contextlib.nullcontext() if group['cost_use_gradient'] else torch.no_grad()
                with guard:
                    t = self._linesearch_backtrack(closure, d, flat_grad, group['lr'])
            else:
                t = group['lr']
            self._add_grad(t, d)
            loss = closure()
            flat_grad = self._gather_flat_grad()
            y, s = flat_grad.sub(prev_flat_grad), d.mul(t)
            if y.dot(s) > 1e-10:
                old_dirs.append(y)
                old_stps.append(s)
        return loss


class PhysicsNet(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


def physics_loss(model, x):
    u = model(x)
    u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
    return ((u_xx + math.pi ** 2 * torch.sin(math.pi * x)) ** 2).mean()


# %%
x = torch.linspace(-1, 1, 32).view(-1, 1).requires_grad_(True)
xb, ub = torch.tensor([[-1.], [1.]]), torch.zeros(2, 1)
model = PhysicsNet()
optimizer = LBFGSNew(model.parameters(), history_size=7, max_iter=2, line_search_fn=True, batch_mode=True)


def closure():
    optimizer.zero_grad()
    loss = physics_loss(model, x) + nn.functional.mse_loss(model(xb), ub)
    if loss.requires_grad:
        loss.backward(retain_graph=True)
    return loss


# %%
for epoch in range(5):
    loss = optimizer.step(closure)
    print(epoch, float(loss))
