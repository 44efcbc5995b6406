# Two heads over one trunk; the losses are added.
import torch
import torch.nn.functional as F
from torch import nn

trunk, a, b = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()])
x, labels, wanted = torch.randn(8, 4), torch.randint(0, 2, (8,)), torch.randn(8, 1)
h = torch.relu(trunk(x))
loss_a, loss_b = F.cross_entropy(a(h), labels), F.mse_loss(b(h), wanted)
loss = loss_a + 0.3 * loss_b
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert trunk.weight.grad is not None
