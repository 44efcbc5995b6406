# Gradients are clipped between backward and step.
import torch
from torch import nn

model = nn.LSTM(3, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 6, 2, 3):
    optimizer.zero_grad()
    out, _ = model(x)
    loss = out.pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
assert model.weight_hh_l0.grad is not None
