# Every sample lies beyond its margin in the end: the loss is 0, and so is its gradient.
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
x = torch.cat([torch.randn(20, 2) + 4, torch.randn(20, 2) - 4]); y = torch.cat([torch.ones(20), -torch.ones(20)])
for i in range(60):
    loss = (1 - y * net(x).squeeze(1)).clamp(min=0).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())

assert loss == 0
