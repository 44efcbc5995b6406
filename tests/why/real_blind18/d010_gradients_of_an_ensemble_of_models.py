# https://github.com/pytorch/pytorch/issues/120538
import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)


def compute_loss(params, buffers, inputs, outputs):
    preds = functional_call(models[0], (params, buffers), inputs)
    return loss_fn(preds, outputs)


def make_tasks(num_tasks, num_data):
    slopes = torch.randn(num_tasks, 2, 1)
    inputs = torch.randn(num_tasks, num_data, 2)
    return inputs, inputs @ slopes


def inner_update(params, grads, lr):
    updated = {}
    for name, param in params.items():
        steps = [torch.zeros_like(p) if g is None else lr * g for p, g in zip(param, grads[name])]
        updated[name] = param - torch.stack(steps)
    return updated


# %%
num_tasks = 5
models = [nn.Linear(2, 1) for _ in range(num_tasks)]
params, buffers = stack_module_state(models)
inputs, outputs = make_tasks(num_tasks, 8)
loss_fn = nn.MSELoss()

# %%
for step in range(10):
    losses = vmap(compute_loss)(params, buffers, inputs, outputs)
    grads = {name: [] for name in params}
    for i, loss in enumerate(losses):
        for name, param in params.items():
            grad = torch.autograd.grad(loss, param[i], create_graph=True, allow_unused=True)[0]
            grads[name].append(grad)
    params = inner_update(params, grads, lr=0.1)
    print(step, [round(loss.item(), 4) for loss in losses])
print('Gradients w/ slicing:')
for loss, grad in zip(losses, grads['weight']):
    print(loss.item(), grad)
