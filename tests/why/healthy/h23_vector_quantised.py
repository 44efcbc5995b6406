# A code book with a commitment loss: both parts of it are detached on one side.
import torch
import torch.nn.functional as F
from torch import nn

encoder, book = nn.Linear(4, 2), nn.Embedding(6, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *book.parameters()])
x = torch.randn(16, 4)
z = encoder(x)
nearest = torch.cdist(z, book.weight).argmin(1)
code = book(nearest)
loss = F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert bool(encoder.weight.grad.any()) and bool(book.weight.grad.any())
