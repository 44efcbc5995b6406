# https://github.com/pytorch/pytorch/issues/32708
import torch

torch.manual_seed(0)

rows, cols, height, width = 2, 4, 2, 2


def wirelength(pos):
    """Distance to the neighbours on the right and below"""
    right = (pos[:, 1:] - pos[:, :-1]).abs().sum()
    below = (pos[1:] - pos[:-1]).abs().sum()
    return right + below


# %%
# gradient of the tensor in the model path
lhs_pos = torch.linspace(
    1, 32, steps=32, requires_grad=True, dtype=torch.float)

lhs_pos2 = lhs_pos.view(
    rows, cols, height, width
)
lhs_pos2.sum().backward()
print(lhs_pos.grad)

# %%
# the same for the length of the wires
lhs_pos = torch.linspace(
    1, 32, steps=32, requires_grad=True, dtype=torch.float)

lhs_pos = lhs_pos.view(
    rows, cols, height, width
)
length = wirelength(lhs_pos)
length.backward()
print(length.item())
print(lhs_pos.requires_grad)
print(lhs_pos.grad)
