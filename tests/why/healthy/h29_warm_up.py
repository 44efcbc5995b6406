# A learning rate that grows from a small number.
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 10)
for x in torch.randn(3, 8, 4):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    schedule.step()
assert model.weight.grad is not None
