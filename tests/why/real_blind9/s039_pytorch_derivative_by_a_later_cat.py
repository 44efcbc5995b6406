# https://github.com/pytorch/pytorch/issues/20663
import torch
from torch.autograd import Variable

# %%
a = Variable(torch.Tensor([1., 3., 5.]), requires_grad=True)
b = Variable(torch.Tensor([2., 4., 6.]), requires_grad=True)
a = a.unsqueeze(1)
b = b.unsqueeze(1)
c = torch.matmul(a.t(), b)

print(torch.autograd.grad(c, a, retain_graph=True)[0]) #returns b
print(torch.autograd.grad(c, b, retain_graph=True)[0]) #returns a
z = torch.cat((a,b), dim=1)
print(torch.autograd.grad(c, z)[0])
