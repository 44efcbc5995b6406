# https://github.com/pytorch/examples/pull/779
import torch
import torch.nn as nn

model = nn.Linear(5, 3)
criterion = nn.CrossEntropyLoss()
lr, clip = 0.1, 0.25
data, targets = torch.randn(4, 5), torch.randint(3, (4,))

# %%
model.zero_grad()
loss = criterion(model(data), targets)
loss.backward()

# %%
# `clip_grad_norm` helps prevent the exploding gradient problem in RNNs / LSTMs.
torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
for p in model.parameters():
    p.add_(p.grad, alpha=-lr)
