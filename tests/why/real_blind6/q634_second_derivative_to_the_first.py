# https://github.com/pytorch/pytorch/issues/60027
import torch
import torch.nn as nn

torch.manual_seed(0)

# %%
x = torch.rand(40, 12, requires_grad=True)
A = nn.Sequential(nn.Linear(12, 1), nn.Tanh())
y = A(x)
g, = torch.autograd.grad(inputs=x, outputs=y, grad_outputs=torch.ones_like(y))
g2, = torch.autograd.grad(inputs=g, outputs=y, grad_outputs=torch.ones_like(y))
print(g2.shape)
