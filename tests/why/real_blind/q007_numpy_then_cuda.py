# https://github.com/pytorch/pytorch/issues/7335
import numpy as np
import torch

# %%
a = torch.tensor(np.array([1., 2., 3.]), dtype=torch.float, requires_grad=True).to("cpu", copy=True)
print(a.requires_grad, a.dtype)
b = torch.ones(3)
l = a @ b
print(l.item())
l.backward()
print(a.grad)
