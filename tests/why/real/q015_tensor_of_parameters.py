# https://github.com/pytorch/pytorch/issues/61410
import torch

t = torch.FloatTensor([1.0])
p = torch.nn.Parameter(t)

p.requires_grad = True

# %%
q = torch.Tensor([p,])
print(torch.Tensor(p).requires_grad)  # True
print(q.requires_grad)  # False
