# https://github.com/pytorch/pytorch/issues/58509
import torch
from torch import autograd


class BadCustomFunction(autograd.Function):
  @staticmethod
  def forward(ctx, inp):
    interm = inp * 2
    ctx.foo = interm
    res = interm ** 2
    return res

  @staticmethod
  def backward(ctx, gres):
      grad = 2 * 2 * ctx.foo * gres
      return grad


# %%
torch.manual_seed(0)
inp = torch.rand(2, dtype=torch.double, requires_grad=True)
# Gradcheck is correct
print(autograd.gradcheck(BadCustomFunction.apply, inp))

out = BadCustomFunction.apply(inp)
gres = torch.ones_like(out, requires_grad=True)
first, = autograd.grad(out, inp, gres, create_graph=True)
print(first)
first.sum().backward()
second = inp.grad
print(second)
