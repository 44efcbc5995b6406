# https://discuss.pytorch.org/t/gradient-of-threshold-function/205194
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(6, 16), nn.Threshold(0.1, 0.0), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
before = net[0].weight.detach().clone()

# %%
for step in range(4):
    x, y = torch.randn(32, 6), torch.randint(2, (32,))
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
