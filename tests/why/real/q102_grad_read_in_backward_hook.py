# https://github.com/pytorch/pytorch/issues/24400
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
read = []


# %%
def backward_pass(module, ginp, goutp):
    read.append(module.weight.grad)


for layer in (net[0], net[2]):
    layer.register_full_backward_hook(backward_pass)

# %%
net(torch.randn(3, 4)).sum().backward()
print(read)
