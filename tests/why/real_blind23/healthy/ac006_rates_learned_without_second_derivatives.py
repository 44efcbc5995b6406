# https://github.com/learnables/learn2learn/issues/287
import copy

import torch
from torch import nn

torch.manual_seed(0)


def clone_module(module):
    clone = copy.copy(module)
    clone._parameters = {k: p if p is None else p.clone() for k, p in module._parameters.items()}
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def meta_sgd_update(model, lrs, grads):
    for lr, (module, key), g in zip(lrs, parameters_of(model), grads):
        module._parameters[key] = module._parameters[key] - lr * g
    return model


def parameters_of(model):
    return [(m, k) for m in model.modules() for k, p in m._parameters.items() if p is not None]


class MetaSGD(nn.Module):
    def __init__(self, model, lr=1.0, first_order=False, lrs=None):
        super(MetaSGD, self).__init__()
        self.module = model
        if lrs is None:
            lrs = nn.ParameterList([nn.Parameter(torch.ones_like(p) * lr) for p in model.parameters()])
        self.lrs = lrs
        self.first_order = first_order

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def clone(self):
        return MetaSGD(clone_module(self.module), first_order=self.first_order, lrs=self.lrs)

    def adapt(self, loss, first_order=None):
        if first_order is None:
            first_order = self.first_order
        second_order = not first_order
        gradients = torch.autograd.grad(
            loss,
            [m._parameters[k] for m, k in parameters_of(self.module)],
            retain_graph=second_order,
            create_graph=second_order,
        )
        self.module = meta_sgd_update(self.module, self.lrs, gradients)


def draw_task(shots=10):
    amplitude, phase = 0.5 + 2 * torch.rand(1), torch.pi * torch.rand(1)
    x = torch.rand(2 * shots, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return x[:shots], y[:shots], x[shots:], y[shots:]


# %%
model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta = MetaSGD(model, lr=0.01, first_order=True)
opt = torch.optim.Adam(meta.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
rates_before = meta.lrs[0].detach().clone()

# %%
history = []
for iteration in range(250):
    opt.zero_grad()
    meta_loss = 0.0
    for task in range(4):
        x_adapt, y_adapt, x_eval, y_eval = draw_task()
        learner = meta.clone()
        for step in range(2):
            learner.adapt(loss_fn(learner(x_adapt), y_adapt))
        eval_loss = loss_fn(learner(x_eval), y_eval) / 4
        eval_loss.backward()
        meta_loss += eval_loss.item()
    opt.step()
    history.append(meta_loss)
early, late = sum(history[:25]) / 25, sum(history[-25:]) / 25
print(early, late, (meta.lrs[0] - rates_before).abs().max().item())
