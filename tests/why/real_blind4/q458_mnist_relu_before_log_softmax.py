# https://github.com/pytorch/examples/pull/117
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(1)
lr, momentum, log_interval = 0.01, 0.5, 2


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.conv2 = nn.Conv2d(4, 8, kernel_size=3)
        self.fc1 = nn.Linear(8 * 4, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = x.view(-1, 8 * 4)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(x, dim=1)


prototypes = torch.rand(10, 1, 14, 14)
train_loader = []
for _ in range(6):
    target = torch.randint(10, (16,))
    train_loader.append((prototypes[target] + 0.1 * torch.randn(16, 1, 14, 14), target))

# %%
model = Net()
optimizer = optim.SGD(model.parameters(), lr=lr, momentum=momentum)


def train(epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = Variable(data), Variable(target)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % log_interval == 0:
            print('Train Epoch: {} [{}/{}]\tLoss: {:.6f}'.format(epoch, batch_idx, len(train_loader), loss.item()))


for epoch in range(1, 3):
    train(epoch)
print(model.fc2.weight.grad.abs().sum(1))
