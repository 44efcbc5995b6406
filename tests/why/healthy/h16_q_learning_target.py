# A target network without gradient, soft updates under no_grad.
import torch
import torch.nn.functional as F
from torch import nn

import copy

q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters())
s, s2, a, r = torch.randn(16, 4), torch.randn(16, 4), torch.randint(0, 2, (16, 1)), torch.randn(16)
with torch.no_grad():
    y = r + 0.99 * target(s2).max(1).values
loss = F.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
with torch.no_grad():
    for p, t in zip(q.parameters(), target.parameters()):
        t.mul_(0.995).add_(p, alpha=0.005)
assert target[0].weight.grad is None
