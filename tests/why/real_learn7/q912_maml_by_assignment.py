# https://discuss.pytorch.org/t/another-way-to-implement-maml-model-agnostic-meta-learning/164439
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
update_lr = 0.1
x, y = torch.randn(8, 6), torch.randint(3, (8,))

# %%
param_copy = copy.deepcopy(list(model.parameters()))
for step in range(3):
    for meta_param, model_param in zip(param_copy, model.parameters()):
        model_param = meta_param
    out = model(x)
    loss = F.cross_entropy(out, y)
    grad = torch.autograd.grad(loss, param_copy)
    param_copy = list(map(lambda p: p[1] - update_lr * p[0], zip(grad, param_copy)))
    print(step, loss.item())
