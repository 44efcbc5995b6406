# Distillation: a teacher under no_grad, in no optimizer, and a student that learns from it
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(h)))


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(*(Residual(16) for _ in range(8)))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.blocks(x)
        return self.fc(x.mean((2, 3)))


teacher = Teacher().eval()
student = nn.Sequential(
    nn.Conv2d(3, 8, 3, 2, 1),
    nn.ReLU(),
    nn.Conv2d(8, 16, 3, 2, 1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
opt = torch.optim.Adam(student.parameters())
x, y = torch.randn(2, 3, 32, 32), torch.randint(10, (2,))
# %% the recorded cell
with torch.no_grad():
    t = teacher(x)
s = student(x)
kd = F.kl_div(F.log_softmax(s / 2, -1), F.softmax(t / 2, -1), reduction="batchmean")
loss = kd + F.cross_entropy(s, y)
opt.zero_grad()
loss.backward()
opt.step()
