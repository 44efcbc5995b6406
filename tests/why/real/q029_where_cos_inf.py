# https://github.com/pytorch/pytorch/issues/18287
import math
import torch

# %%
x = torch.tensor([0.0, math.inf], requires_grad=True)
y = torch.where(x < 1.0, torch.cos(x), torch.zeros_like(x))

g, = torch.autograd.grad(y.sum(), x)
print(g)
