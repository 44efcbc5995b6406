# https://stackoverflow.com/questions/56667596
import torch

x = torch.tensor([0.0, 1.0, 100.0], requires_grad=True)

# %%
exp = x.exp()
y = x.where(torch.isinf(exp), exp.log1p())
print(y)
y.sum().backward()
print(x.grad)
