# https://pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html
import torch


class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        expx, expnegx = x.exp(), (-x).exp()
        ctx.save_for_backward(expx, expnegx)
        # what is saved is also an output, or the derivative of the derivative would miss it
        return 0.5 * (expx - expnegx), expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, grad_exp, grad_negexp):
        expx, expnegx = ctx.saved_tensors
        return grad_out * 0.5 * (expx + expnegx) + grad_exp * expx - grad_negexp * expnegx


def sinh(x):
    return Sinh.apply(x)[0]


# %%
x = torch.linspace(-2, 2, 9, dtype=torch.double, requires_grad=True)
torch.autograd.gradcheck(sinh, x)
torch.autograd.gradgradcheck(sinh, x)

# %%
out = sinh(x)
gx, = torch.autograd.grad(out.sum(), x, create_graph=True)
ggx, = torch.autograd.grad(gx.sum(), x, retain_graph=True)
loss = (gx ** 2).mean()
loss.backward()
print(x.grad)
