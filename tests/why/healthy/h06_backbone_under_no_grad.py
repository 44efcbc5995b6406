# Features are computed under no_grad, the head learns.
import torch
import torch.nn.functional as F
from torch import nn

backbone, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
x, y = torch.randn(16, 6), torch.randn(16, 1)
with torch.no_grad():
    features = backbone(x)
loss = F.mse_loss(head(features), y)
loss.backward()
optimizer.step()
assert head.weight.grad is not None
