# https://pytorch.org/docs/stable/optim.html
import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.MSELoss()
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
before = ema_model.module[0].weight.detach().clone()

# %%
for epoch in range(4):
    input, target = torch.randn(32, 10), torch.randn(32, 1)
    optimizer.zero_grad()
    loss = loss_fn(model(input), target)
    loss.backward()
    optimizer.step()
    ema_model.update_parameters(model)

# Update bn statistics for the ema_model at the end
torch.optim.swa_utils.update_bn([torch.randn(32, 10)], ema_model)
with torch.no_grad():
    preds = ema_model(torch.randn(4, 10))
print(loss.item(), preds.flatten())
