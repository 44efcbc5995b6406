# https://github.com/pytorch/pytorch/issues/9391
import torch

# %%
a = torch.tensor([1, 2, 3.], requires_grad=True)
b = a.sigmoid()
b[1] = 2

# %%
b.sum().backward()
print(a.grad)
