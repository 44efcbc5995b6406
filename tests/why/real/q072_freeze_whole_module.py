# https://github.com/pytorch/pytorch/issues/9241
import torch
import torch.nn as nn

my_module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
head = nn.Linear(8, 2)

# %%
for param in my_module.parameters():
    param.requires_grad = False

# %%
loss = head(my_module(torch.randn(3, 4))).sum()
loss.backward()
print([p.grad for p in my_module.parameters()])
