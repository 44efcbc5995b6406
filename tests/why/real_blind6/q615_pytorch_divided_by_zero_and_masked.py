# https://github.com/pytorch/pytorch/issues/4132
import torch

# %%
x = torch.tensor([1., 1.], requires_grad=True)
div = torch.tensor([0., 1.])

y = x / div  # => y is [inf, 1]

mask = (div != 0)  # => mask is [0, 1]
loss = y[mask]

loss.backward()
print(x.grad)  # grad is [nan, 1], but expected [0, 1]
