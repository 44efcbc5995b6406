# https://discuss.pytorch.org/t/loss-grad-is-constant-1/130964
import torch
from torch import nn

model = nn.Linear(1, 1)

# %%
x = torch.randn(1, 1)
# Forward pass, compute loss
out = model(x)
loss = out**2
loss.retain_grad()
print(loss.grad)  # None
print(x.grad)  # None

# %%
loss.backward()
print(loss.grad)
print(x.grad)
