# One of two views is detached, as SimSiam does.
import torch
import torch.nn.functional as F
from torch import nn

net, predictor = nn.Linear(6, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*net.parameters(), *predictor.parameters()], lr=0.1)
a, b = torch.randn(8, 6), torch.randn(8, 6)
za, zb = net(a), net(b)
loss = -(
    F.cosine_similarity(predictor(za), zb.detach()).mean()
    + F.cosine_similarity(predictor(zb), za.detach()).mean()
) / 2
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert net.weight.grad is not None
