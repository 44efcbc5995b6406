# A teacher whose answer is detached, frozen before.
import torch
import torch.nn.functional as F
from torch import nn

teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
teacher.requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    loss = F.mse_loss(student(x), teacher(x).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert student.weight.grad is not None
