# No sample of the last batch counts: its loss is 0, and the batches before it trained.
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
batches = [(torch.randn(6, 3), torch.randn(6, 2), (torch.rand(6) < keep).float()) for keep in (1, 0.5, 0.7, 0.0)]
for x, y, valid in batches:
    err = (net(x) - y).pow(2).mean(1)
    loss = (err * valid).sum() / valid.sum().clamp(min=1)
    opt.zero_grad(); loss.backward(); opt.step()

assert loss == 0
