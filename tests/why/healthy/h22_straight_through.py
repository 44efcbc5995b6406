# A straight-through estimator: the rounding is detached on purpose.
import torch
import torch.nn.functional as F
from torch import nn

encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
x = torch.randn(8, 4)
z = encoder(x)
code = z + (z.round() - z).detach()
loss = F.mse_loss(decoder(code), x)
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert bool(encoder.weight.grad.any())
