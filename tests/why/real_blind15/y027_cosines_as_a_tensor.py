# https://discuss.pytorch.org/t/gradient-is-lost-when-use-torch-tensor-t1-t2/23261
import torch

torch.manual_seed(0)

a = torch.tensor(0.0)
b = torch.tensor(0.0)
a.requires_grad = True
b.requires_grad = True

mat = torch.tensor([
    [1.0, 2.0],
    [3.0, 4.0]
])

# %%
cosa = torch.cos(a + 0.3)
cosb = torch.cos(b + 0.5)
y1 = cosa + cosb
y1.backward(retain_graph=True)
print("a grad of y1", a.grad)
a.grad = None
b.grad = None

# %%
# y2 has to be a matrix to support the following operations
y2 = torch.tensor([
    cosa, cosb
])
y2 = torch.matmul(y2, mat)
y2.sum().backward()
print("a has grad", a.requires_grad)
print("a grad", a.grad)
print("b grad", b.grad)
