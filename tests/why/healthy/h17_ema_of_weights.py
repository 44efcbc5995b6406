# An average of the weights beside the training.
import torch
from torch import nn

model = nn.Linear(4, 2)
ema = {n: p.detach().clone() for n, p in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for n, p in model.named_parameters():
        ema[n].mul_(0.9).add_(p.detach(), alpha=0.1)
assert model.weight.grad is not None
