# https://github.com/pytorch/pytorch/issues/17455
import torch
import numpy as np

torch.manual_seed(0)


class CleanedSoftplus:
    """log(1 + exp(x)), with what overflows set to zero."""

    def __init__(self, limit=50.0):
        self.limit = limit

    def __call__(self, x):
        f = torch.log(torch.exp(x) + 1)
        f[x > self.limit] = 0
        return f


x = torch.from_numpy(np.array([0, 100])).float()
x.requires_grad = True

# %%
f = CleanedSoftplus()(x)
clean_f = torch.zeros(100)
clean_f[0] = f[0]

print(torch.autograd.grad(f[1], x, retain_graph=True))
print(torch.autograd.grad(f[0], x, retain_graph=True))
print(torch.autograd.grad(clean_f[1], x, retain_graph=True))
print(f)

loss = clean_f.sum()
loss.backward()
print(loss.item(), x.grad)
