# A network with dropout and batch norm, trained, then put into evaluation mode.
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
model.train()
for _ in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
model.eval()
assert model[0].weight.grad is not None
