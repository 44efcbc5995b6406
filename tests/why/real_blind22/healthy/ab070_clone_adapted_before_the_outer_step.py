# https://github.com/learnables/learn2learn/issues/153
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


def clone_module(module):
    clone = copy.copy(module)
    clone._parameters = {k: p.clone() if p is not None else None for k, p in module._parameters.items()}
    clone._buffers = dict(module._buffers)
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def update_module(module, updates):
    for key, p in module._parameters.items():
        if p is not None:
            module._parameters[key] = p + next(updates)
    for child in module._modules.values():
        update_module(child, updates)


class MAML:
    def __init__(self, model, lr, first_order=False):
        self.module, self.lr, self.first_order = model, lr, first_order

    def __call__(self, x):
        return self.module(x)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        second_order = not self.first_order
        gradients = torch.autograd.grad(loss, list(self.module.parameters()), retain_graph=second_order,
                                        create_graph=second_order)
        update_module(self.module, iter([-self.lr * g for g in gradients]))


def fast_adapt(task, learner, loss, adaptation_steps, shots):
    slope, shift = task
    x = torch.rand(2 * shots, 1) * 4 - 2
    y = slope * torch.sin(x + shift)
    for step in range(adaptation_steps):
        learner.adapt(loss(learner(x[:shots]), y[:shots]))
    return loss(learner(x[shots:]), y[shots:])


# %%
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
maml = MAML(model, lr=0.1, first_order=False)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss = nn.MSELoss(reduction="mean")
meta_batch_size, adaptation_steps, shots = 4, 1, 10

# %%
history = []
for iteration in range(80):
    opt.zero_grad()
    meta_train_error = 0.0
    for task in range(meta_batch_size):
        learner = maml.clone()
        task_params = (0.5 + torch.rand(1), torch.rand(1) * 3)
        evaluation_error = fast_adapt(task_params, learner, loss, adaptation_steps, shots)
        evaluation_error.backward()
        meta_train_error += evaluation_error.item()
    for p in model.parameters():
        p.grad.data.mul_(1.0 / meta_batch_size)
    opt.step()
    history.append(meta_train_error / meta_batch_size)
print(sum(history[:10]) / 10, sum(history[-10:]) / 10)
