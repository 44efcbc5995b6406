# https://discuss.pytorch.org/t/bit-of-fun-with-gradients/34398
import torch

# %%
# broken gradient, ends at _y
x = torch.ones(2, 2, requires_grad=True)
y = 2 * x + 2
_y = torch.tensor(y.detach(), requires_grad=True)
z = _y * _y * 3
out = z.mean()
out.backward()

# %%
print(x.grad)
print(_y.grad)
