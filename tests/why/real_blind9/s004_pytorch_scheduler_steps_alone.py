# https://github.com/pytorch/pytorch/issues/3814
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(10, 20)
        self.fc2 = nn.Linear(20, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=30, gamma=0.1)
labels = torch.randint(0, 3, (90,))
inputs = torch.randn(90, 10) + labels[:, None]
before = net.fc1.weight.detach().clone()

# %%
for epoch in range(5):
    for i in range(0, 90, 30):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs[i:i + 30]), labels[i:i + 30])
        loss.backward()
        scheduler.step()
    print(epoch, loss.item())
