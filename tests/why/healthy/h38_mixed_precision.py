# Autocast to bfloat16, weights in float32.
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = F.cross_entropy(model(x).float(), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert model[0].weight.grad is not None
