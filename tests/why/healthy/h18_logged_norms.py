# Norms and the loss are logged after each step.
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
log, running = [], 0.0
for x in torch.randn(4, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
    log.append({n: (p.norm().item(), p.grad.norm().item()) for n, p in model.named_parameters()})
    best = loss.detach().cpu().numpy()
assert len(log) == 4
