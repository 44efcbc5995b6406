# Groups with rates of their own; one of them is frozen.
import torch
import torch.nn.functional as F
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 2)
body.bias.requires_grad_(False)
optimizer = torch.optim.SGD(
    [{"params": body.parameters(), "lr": 1e-4}, {"params": head.parameters(), "lr": 1e-2}]
)
loss = F.cross_entropy(head(torch.relu(body(torch.randn(8, 4)))), torch.randint(0, 2, (8,)))
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert body.bias.grad is None
