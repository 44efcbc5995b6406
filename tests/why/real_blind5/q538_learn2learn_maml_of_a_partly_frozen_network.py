# https://github.com/learnables/learn2learn/issues/92
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def clone_module(module):
    clone = copy.copy(module)
    clone._parameters = {k: None if p is None else p.clone() for k, p in module._parameters.items()}
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def update_module(module, updates):
    for key, p in module._parameters.items():
        if p is not None and p in updates:
            module._parameters[key] = p + updates[p]
    for child in module._modules.values():
        update_module(child, updates)


class MAML:
    def __init__(self, module, lr, first_order=False):
        self.module, self.lr, self.first_order = module, lr, first_order

    def __call__(self, x):
        return self.module(x)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        second_order = not self.first_order
        gradients = torch.autograd.grad(loss, self.module.parameters(), retain_graph=second_order, create_graph=second_order)
        update_module(self.module, {p: -self.lr * g for p, g in zip(self.module.parameters(), gradients)})


class PermuteRandom(nn.Module):
    def __init__(self, n, seed=0):
        super().__init__()
        perm = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
        self.w = nn.Parameter(torch.eye(n)[perm], requires_grad=False)

    def forward(self, x):
        return x @ self.w


class FreezeNet(nn.Module):
    def __init__(self, n=8, num_outputs=5):
        super(FreezeNet, self).__init__()
        self.permute_0 = PermuteRandom(n)
        self.subnet = nn.Sequential(nn.Linear(n, n), nn.ReLU())
        self.final = nn.Linear(n, num_outputs)

    def forward(self, x):
        return self.final(self.subnet(self.permute_0(x)) + x)


# %%
maml = MAML(FreezeNet(), lr=0.5)
opt = torch.optim.Adam(maml.module.parameters(), 0.003)

# %%
for iteration in range(2):
    opt.zero_grad()
    for task in range(2):
        learner = maml.clone()
        data, labels = torch.randn(10, 8), torch.randint(0, 5, (10,))
        learner.adapt(F.cross_entropy(learner(data[:5]), labels[:5]))
        evaluation_error = F.cross_entropy(learner(data[5:]), labels[5:])
        evaluation_error.backward()
    opt.step()
    print(iteration, evaluation_error.item())
