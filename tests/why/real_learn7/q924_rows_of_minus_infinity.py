# https://jkschin.com/blog/2023/cross-entropy-loss-ignore-index/
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

inf = float("inf")
model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mask = torch.full((5, 6), -inf)
mask[0, :2] = 0
mask[1, :2] = 0
targets = torch.tensor([0, 1, -1, -1, -1])

# %%
tokens = torch.randint(10, (5,))
for step in range(2):
    logits = model(tokens) + mask
    loss = F.cross_entropy(logits, targets, ignore_index=-1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
