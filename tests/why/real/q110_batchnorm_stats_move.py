# https://github.com/pytorch/pytorch/issues/86590
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))

# %%
for param in net[:3].parameters():
    param.requires_grad = False
before = net[1].running_mean.clone()

# %%
net.train()
optimizer = torch.optim.SGD((p for p in net.parameters() if p.requires_grad), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(4, 3, 6, 6)), torch.tensor([0, 1, 1, 0])).backward()
    optimizer.step()

# %%
print(torch.equal(before, net[1].running_mean))
