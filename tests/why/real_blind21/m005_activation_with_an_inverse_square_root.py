# https://github.com/pytorch/pytorch/issues/4355
import torch
import torch.nn as nn
from torch.autograd import Function, gradcheck

torch.manual_seed(0)


class ISRLUFunction(Function):
    @staticmethod
    def forward(ctx, tensor, alpha=1):
        negatives = torch.min(tensor, 0 * tensor)
        ctx.nisr = torch.rsqrt(1. + alpha * (negatives ** 2))
        # ctx.nisr == 1 where tensor elements are positive
        return tensor * ctx.nisr

    @staticmethod
    def backward(ctx, grad_out):
        return ctx.nisr ** 3, None


ISRLU = ISRLUFunction.apply


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(20, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(ISRLU(self.fc1(x)))


# %%
x = torch.linspace(-4, 4, 9, requires_grad=True)
y = ISRLU(x)
y.sum().backward()
print(y)
print(x.grad)

# %%
net = Net()
out = net(torch.randn(5, 20))
print(out.shape)

# %%
inputs = torch.randn(20, 20, dtype=torch.double, requires_grad=True)
test = gradcheck(ISRLU, (inputs,), eps=1e-6, atol=1e-4)
print(test)
