# https://github.com/learnables/learn2learn/issues/169
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def clone_module(module):
    clone = module.__new__(type(module))
    clone.__dict__ = module.__dict__.copy()
    clone._parameters = {k: p.clone() if p is not None else None for k, p in module._parameters.items()}
    clone._buffers = dict(module._buffers)
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def update_module(module, updates):
    """Puts p + update where p was; the sum keeps its graph."""
    for key, param in module._parameters.items():
        if param is not None:
            module._parameters[key] = param + updates.pop(0)
    for child in module._modules.values():
        update_module(child, updates)


def tensors_of(module):
    own = [p for p in module._parameters.values() if p is not None]
    return own + [p for child in module._modules.values() for p in tensors_of(child)]


class MAML(nn.Module):
    def __init__(self, model, lr, first_order=False):
        super().__init__()
        self.module, self.lr, self.first_order = model, lr, first_order

    def forward(self, x):
        return self.module(x)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        params = tensors_of(self.module)
        second_order = not self.first_order
        grads = torch.autograd.grad(loss, params, retain_graph=second_order, create_graph=second_order)
        update_module(self.module, [-self.lr * g for g in grads])


class SineTask:
    def __init__(self):
        self.amplitude, self.phase = torch.rand(1) * 4 + 1, torch.rand(1) * 3.14

    def sample(self, n):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


def fast_adapt(task, learner, adaptation_steps, shots):
    x, y = task.sample(shots)
    for step in range(adaptation_steps):
        learner.adapt(F.mse_loss(learner(x), y))
    x, y = task.sample(20)
    return F.mse_loss(learner(x), y)


# %%
maml = MAML(nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)), lr=0.05)
untrained = copy.deepcopy(maml)
opt = torch.optim.Adam(maml.parameters(), 3e-3)
errors, meta_batch_size = [], 6

# %%
for iteration in range(150):
    opt.zero_grad()
    meta_train_error = 0.0
    for task in range(meta_batch_size):
        learner = maml.clone()
        evaluation_error = fast_adapt(SineTask(), learner, adaptation_steps=1, shots=10)
        evaluation_error.backward()
        meta_train_error += evaluation_error.item()
    for p in maml.parameters():
        p.grad.data.mul_(1.0 / meta_batch_size)
    opt.step()
    errors.append(meta_train_error / meta_batch_size)

# %%
weights = [p.detach().clone() for p in maml.parameters()]
torch.manual_seed(1)
tasks = [SineTask() for _ in range(50)]
after = sum(fast_adapt(t, maml.clone(), 3, 10).item() for t in tasks) / 50
plain = sum(fast_adapt(t, untrained.clone(), 3, 10).item() for t in tasks) / 50
print(errors[0], errors[-1], plain, after)
assert all(p.is_leaf and p.grad is not None for p in maml.parameters())
assert all(torch.equal(a, b) for a, b in zip(weights, maml.parameters()))
assert after < 0.75 * plain
