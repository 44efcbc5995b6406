# Accuracy is counted with argmax, under no_grad, between two epochs.
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
for epoch in range(2):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean()
assert model.weight.grad is not None
