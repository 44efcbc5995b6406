# https://github.com/pytorch/pytorch/issues/108618
import torch

x1 = torch.tensor([0.0, 2.0, 3.0], requires_grad=True)

# %%
# Use torch.where to conditionally apply an operation
y1 = torch.where(x1 > 2, torch.log2(x1), 2*x1)

z1 = y1.sum()

z1.backward()

# Check the gradients
print('y1 =', y1)
print('x1.grad =', x1.grad)
