# https://github.com/pytorch/pytorch/issues/38506
import torch
from torch import nn

torch.manual_seed(0)

# %%
inp = torch.randn(12, requires_grad=True)
model = nn.Sequential(
    nn.Linear(12, 1)
)
out = model(inp)
grad = torch.autograd.grad(out, inp, create_graph=True)[0]
grad2 = torch.autograd.grad(grad.sum(), inp)[0]
print(grad2)
