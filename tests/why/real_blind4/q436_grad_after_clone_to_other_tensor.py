# https://github.com/pytorch/pytorch/issues/12923
import torch

torch.manual_seed(0)

x = torch.randn(4, requires_grad=True).to(torch.float64)
y = torch.randn(4, requires_grad=True).to(torch.float64)
z = torch.zeros(4)
z = torch.clone(x)
z.retain_grad()
h = (z + y) * z
l = torch.randn(4).to(torch.float64)
loss = (l - h).pow(2).sum()
loss.backward()
print('x.grad=', x.grad)
print('z.grad=', z.grad)
print(x)
print(z)
