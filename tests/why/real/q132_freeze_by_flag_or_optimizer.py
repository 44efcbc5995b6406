# https://discuss.pytorch.org/t/best-practice-for-freezing-layers/58156
import torch
from torch import nn, optim

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
before, last_before = model[0].weight.detach().clone(), model[-1].weight.detach().clone()

# %%
optimizer = optim.SGD(model[-1].parameters(), lr=1e0)

# %%
for _ in range(2):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.randint(2, (6,))).backward()
    optimizer.step()
print(torch.equal(before, model[0].weight), torch.equal(last_before, model[-1].weight))
