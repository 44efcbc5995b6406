# Softmax in attention, and cross entropy over raw logits.
import torch
import torch.nn.functional as F
from torch import nn

embed, qkv, out = nn.Embedding(20, 8), nn.Linear(8, 24), nn.Linear(8, 20)
parameters = [*embed.parameters(), *qkv.parameters(), *out.parameters()]
optimizer = torch.optim.Adam(parameters)
tokens = torch.randint(0, 20, (2, 6))
q, k, v = qkv(embed(tokens)).chunk(3, dim=-1)
mask = torch.triu(torch.ones(6, 6, dtype=torch.bool), 1)
weights = (q @ k.transpose(1, 2) / 8**0.5).masked_fill(mask, float("-inf")).softmax(-1)
logits = out(weights @ v)
loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert all(p.grad is not None for p in parameters)
