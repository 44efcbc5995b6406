# https://github.com/lululxvi/deepxde/pull/1318
import torch

a = torch.tensor([1.], requires_grad=True)
b = torch.tensor([2.], requires_grad=True)

# %%
# as_tensor
ab = torch.as_tensor((a, b))
ab.requires_grad = True
ab.sum().backward()
print(f"a.grad = {a.grad}, b.grad = {b.grad}")
