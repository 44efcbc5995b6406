# https://discuss.pytorch.org/t/which-is-freed-which-is-not/8636
import torch
from torch.autograd import Variable

torch.manual_seed(0)


def weight_gradient(layer):
    return layer.weight.grad.abs().sum().item()


# Example1 : passed
# %%
x = torch.nn.Linear(3, 3)
a = Variable(torch.randn(2, 3))
for i in range(100):
    y = torch.sum(x(a))
    y.backward()
print("example 1", weight_gradient(x))

# Example2 : failed
# %%
x = torch.nn.Linear(3, 3)
a = Variable(torch.randn(2, 3))
y = torch.sum(x(a))

# %%
for i in range(100):
    y.backward()
print("example 2", weight_gradient(x))
