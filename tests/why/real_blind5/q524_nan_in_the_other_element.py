# https://whosebug.com/question/5957504/PyTorch-backward-on-a-tensor-element-affected-by-nan-in-other-elements
import torch

torch.manual_seed(0)

# %%
x = torch.tensor(1., requires_grad=True)
y = torch.tensor(0., requires_grad=True)
z0 = x * y / y
z1 = x + y
print(z0, z1)
z1.backward()
print(x.grad)

# %%
x = torch.tensor(1., requires_grad=True)
y = torch.tensor(0., requires_grad=True)
z = torch.full((2, ), float("nan"))
z[0] = x * y / y
z[1] = x + y
print(z)
z[1].backward()
print(x.grad)
