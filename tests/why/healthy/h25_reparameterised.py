# A variational autoencoder.
import torch
import torch.nn.functional as F
from torch import nn

enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
x = torch.rand(8, 6)
mu, logvar = enc(x).chunk(2, dim=-1)
z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
reconstruction = F.binary_cross_entropy_with_logits(dec(z), x, reduction="sum")
divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
loss = reconstruction + divergence
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert enc.weight.grad is not None
