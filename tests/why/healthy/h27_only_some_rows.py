# An embedding of which a batch reads only some rows.
import torch
import torch.nn.functional as F
from torch import nn

embed, head = nn.Embedding(100, 4, padding_idx=0), nn.Linear(4, 2)
optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()])
words = torch.tensor([[4, 9, 0, 0], [7, 4, 2, 0]])
loss = F.cross_entropy(head(embed(words).mean(1)), torch.tensor([0, 1]))
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert bool(embed.weight.grad[4].any())
