# https://github.com/pytorch/pytorch/issues/74806
import torch
from torch import Tensor

torch.manual_seed(0)


def reduce(x: Tensor, y: Tensor, z: Tensor, op) -> Tensor:
    tensor = torch.zeros((5,), dtype=torch.float32, requires_grad=False)
    tensor[0] = x
    tensor[1] = y
    tensor[3] = z

    tensor[2] = op(tensor[0], tensor[1])
    tensor[4] = op(tensor[2], tensor[3])
    return tensor[4]


def gradients(op):
    inputs = [
        torch.randn((), requires_grad=True),
        torch.randn((), requires_grad=True),
        torch.randn((), requires_grad=True),
    ]
    out = reduce(*inputs, op=op)
    return torch.autograd.grad(out, inputs, torch.ones_like(out))


# %%
grad = gradients(torch.add)
print(f'add => {grad}')

# %%
grad = gradients(torch.mul)
print(f'mul => {grad}')
