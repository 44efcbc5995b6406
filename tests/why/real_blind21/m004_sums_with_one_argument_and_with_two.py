# https://github.com/pytorch/pytorch/issues/13540
import torch
from torch.autograd import Function, gradcheck

torch.manual_seed(0)


class Sum1(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = None

        x = ctx.saved_tensors

        if ctx.needs_input_grad[0]:
            grad_x = torch.ones_like(x) * grad_output

        return grad_x


class Sum3(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_y = None

        x = ctx.saved_tensors[0]

        if ctx.needs_input_grad[0]:
            grad_x = torch.ones_like(x) * grad_output

        return grad_x, grad_y


# %%
sum1 = Sum1.apply
sum3 = Sum3.apply

a = torch.rand(10, dtype=torch.double, requires_grad=True)
b = torch.rand(10, dtype=torch.double, requires_grad=True)
print(sum1(a), sum3(a, b))

# %%
b.requires_grad_(False)
print("sum3", gradcheck(sum3, (a, b)))

# %%
passed = gradcheck(sum1, (a,))
print("sum1", passed)
