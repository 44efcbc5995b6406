# https://github.com/pytorch/pytorch/issues/9303
import torch
from torch import nn

# %%
p = nn.Parameter(torch.zeros(5))
print(type(p))
p = p.to(torch.device('cpu'), copy=True)
print(type(p))

# %%
net = nn.Module()
net.p = p
print(list(net.parameters()))
