# https://github.com/pytorch/pytorch/issues/13886
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng(0)
dtype = torch.float


def quotient(a):
    return 1 / a


def quotient_slope(a):
    return -1 / (a ** 2)


# %%
a = torch.tensor(rng.standard_normal(), dtype=dtype, requires_grad=True)
loss = quotient(a)
loss.backward()
print(a.grad - quotient_slope(a))

# %%
points = torch.tensor(rng.standard_normal(1000), dtype=dtype, requires_grad=True)
values = quotient(points)
values.sum().backward()
difference = points.grad - quotient_slope(points)
relative = (difference / quotient_slope(points)).abs().max().item()
print(difference.abs().max().item(), relative)

# %%
points64 = points.detach().double().requires_grad_()
quotient(points64).sum().backward()
relative64 = ((points64.grad - quotient_slope(points64)) / quotient_slope(points64)).abs().max().item()
print(relative64, torch.autograd.gradcheck(quotient, (points64[:20].detach().requires_grad_(),)))

# %%
w = torch.tensor(3.0, requires_grad=True)
losses = []
for step in range(100):
    loss = (quotient(w) - 0.5) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 1.0 * w.grad
    w.grad.zero_()
    losses.append(loss.item())
print(w, losses[-1])
