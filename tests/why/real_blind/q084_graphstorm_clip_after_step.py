# https://github.com/awslabs/graphstorm/pull/1382
import torch as th
from torch import nn

model = nn.Linear(4, 1)
optimizer = th.optim.SGD(model.parameters(), lr=1.0)
max_grad_norm, grad_norm_type = 0.5, 2.0
before = model.weight.detach().clone()

# %%
loss = (model(10 * th.ones(8, 4)) - 50).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()

if max_grad_norm is not None:
    th.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm, grad_norm_type)

# %%
print((before - model.weight).norm())
