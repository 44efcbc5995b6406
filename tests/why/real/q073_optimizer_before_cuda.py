# https://github.com/pytorch/pytorch/issues/7844
import torch

l = torch.nn.Linear(3, 3)
o = torch.optim.SGD(l.parameters(), lr=0.1)

# %%
l.to(torch.float64)
before = l.weight.detach().clone()

# %%
l(torch.randn(1, 3, dtype=torch.float64)).sum().backward()
o.step()
print(before - l.weight)
