# https://discuss.pytorch.org/t/how-to-define-a-leaf-tensor-in-pytorch-0-4-1/28461
import torch

torch.manual_seed(0)
# %%
a = torch.randn(3, requires_grad=True).double()
b = torch.randn(3).double()
b.requires_grad = True

y = (a * b).sum()
y.backward()
print(a.is_leaf, b.is_leaf)
print(a.grad)
print(b.grad)
