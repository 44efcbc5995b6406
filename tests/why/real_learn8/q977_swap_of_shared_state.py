# https://github.com/open-mmlab/mmengine/pull/266
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
checkpoint = None
for epoch in range(6):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    if epoch == 2:
        checkpoint = {"state_dict": model.state_dict()}
print((checkpoint["state_dict"]["weight"] - model.weight).abs().max())
