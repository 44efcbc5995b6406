# https://isolution.pro/pl/q/so70246575/funkcja-wsteczna-w-pytorch
import torch

# %%
a = torch.tensor([[1,2,3],[4,5,6]], dtype=torch.float, requires_grad=True)
out = a * a
out.backward(a)
print(a.grad)
