# https://github.com/sonack/How_to_write_cuda_extensions_in_pytorch/issues/2
import torch
from torch.autograd import Function


class RoundFunction(Function):
    @staticmethod
    def forward(ctx, input):
        return torch.round(input)

    @staticmethod
    def backward(ctx, grad_output):
        grad_in = torch.zeros_like(grad_output)
        grad_in.copy_(grad_output)
        return grad_in


# %%
roundFunc = RoundFunction.apply
x = torch.randn(2, 2, requires_grad=True)
x = x.to("cpu", copy=True)
y = roundFunc(x)
y.backward(torch.ones_like(y))

# %%
print(x.grad)  # get None
