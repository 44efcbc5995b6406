# https://github.com/pytorch/pytorch/issues/1029
import torch
from torch.autograd import Variable
from torch.nn import functional as F

inp = torch.randn(5, 5)

# %%
var = Variable(inp.clone(), requires_grad=True)
var2 = var.clone()

F.relu(var2, inplace=True)

loss = var2.sum()
loss.backward()

print(var.grad)

# %%
var_copy = Variable(inp.clone(), requires_grad=True)

F.relu(var_copy, inplace=False)

loss2 = var_copy.sum()
loss2.backward()

print(var_copy.grad)
