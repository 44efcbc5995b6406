# https://github.com/zergtant/pytorch-handbook/issues/69
import torch
from torch.autograd.function import Function

torch.manual_seed(0)


# %%
class MulConstant(Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        # ctx keeps what backward will want
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        # as many results as forward has arguments: a tensor, and a number
        return grad_output, None


# %%
a = torch.rand(3, 3, requires_grad=True)
b = MulConstant.apply(a, 5)
print("a:" + str(a))
print("b:" + str(b))
b.backward(torch.ones_like(a))
print(a.grad)
