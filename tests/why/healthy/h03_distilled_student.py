# A teacher under no_grad, and its student.
import torch
import torch.nn.functional as F
from torch import nn

teacher = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
student = nn.Linear(4, 3)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(32, 4)
with torch.no_grad():
    wanted = F.softmax(teacher(x) / 2.0, dim=-1)
loss = F.kl_div(F.log_softmax(student(x) / 2.0, dim=-1), wanted, reduction="batchmean") * 4.0
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert all(p.grad is None for p in teacher.parameters())
