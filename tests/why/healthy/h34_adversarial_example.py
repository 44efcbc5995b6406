# Projected gradient on an input, by autograd.grad.
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(6, 2)
x, y = torch.rand(4, 6), torch.randint(0, 2, (4,))
delta = torch.zeros_like(x, requires_grad=True)
for _ in range(3):
    loss = F.cross_entropy(model(x + delta), y)
    (g,) = torch.autograd.grad(loss, delta)
    delta = (delta + 0.05 * g.sign()).clamp(-0.1, 0.1).detach().requires_grad_()
assert bool(g.any())
