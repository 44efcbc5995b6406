import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
# %% the recorded cell
opt.zero_grad()
total = 0.0
for _task in range(4):
    amp, ph = torch.rand(1) * 5, torch.rand(1) * 3
    xs, xq = torch.rand(10, 1) * 10 - 5, torch.rand(10, 1) * 10 - 5
    ys, yq = amp * torch.sin(xs + ph), amp * torch.sin(xq + ph)
    fast = dict(net.named_parameters())
    for _ in range(2):
        inner = F.mse_loss(functional_call(net, fast, (xs,)), ys)
        g = torch.autograd.grad(inner, fast.values(), create_graph=True)
        fast = {k: p - 0.01 * gg for (k, p), gg in zip(fast.items(), g, strict=False)}
    total = total + F.mse_loss(functional_call(net, fast, (xq,)), yq)
(total / 4).backward()
opt.step()
