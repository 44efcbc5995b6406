# https://discuss.pytorch.org/t/freezing-the-updates-without-freezing-the-gradients/7358
import torch
from torch import nn

first = nn.Linear(4, 8)
rest = nn.Sequential(nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
for param in rest.parameters():
    param.requires_grad = False
optimizer = torch.optim.SGD(first.parameters(), lr=0.1)

# %%
loss = rest(first(torch.randn(5, 4))).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()

# %%
print(first.weight.grad.norm(), [p.grad for p in rest.parameters()])
