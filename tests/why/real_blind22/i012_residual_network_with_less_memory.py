# https://github.com/Lyken17/pytorch-memonger/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)

        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class SublinearSequential(nn.Sequential):
    def forward(self, input):
        functions = list(self.children())
        for module in functions:
            input = checkpoint(module, input, use_reentrant=True)
        return input


class ResNet(nn.Module):
    def __init__(self, num_classes=4):
        super(ResNet, self).__init__()
        self.in_planes = 8
        self.conv1 = SublinearSequential(nn.Conv2d(3, 8, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.layer1 = self._make_layer(8, 2, stride=1)
        self.layer2 = self._make_layer(8, 2, stride=2)
        self.layer3 = self._make_layer(16, 2, stride=2)
        self.linear = nn.Linear(16, num_classes)

    def _make_layer(self, planes, num_blocks, stride):
        layers = []
        for stride in [stride] + [1] * (num_blocks - 1):
            layers.append(BasicBlock(self.in_planes, planes, stride))
            self.in_planes = planes
        return SublinearSequential(*layers)

    def forward(self, x):
        out = self.conv1(x)
        out = self.layer1(out)
        out = self.layer2(out)
        out = self.layer3(out)
        out = F.adaptive_avg_pool2d(out, 1).flatten(1)
        return self.linear(out)


# %%
net = ResNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
inputs = torch.randn(64, 3, 16, 16)
targets = torch.randint(0, 4, (64,))
for i in range(4):
    inputs[targets == i, :, 4 * i:4 * i + 4] += torch.randn(3, 1, 16)
before = net.layer2[0].conv1.weight.detach().clone()

# %%
net.train()
losses = []
for epoch in range(8):
    for x, y in zip(inputs.split(16), targets.split(16)):
        optimizer.zero_grad()
        outputs = net(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
    print('Epoch: %d, Loss: %.3f' % (epoch, losses[-1]))

# %%
moved = (net.layer2[0].conv1.weight.detach() - before).abs().max().item()
print([name for name, param in net.named_parameters() if param.grad is not None], moved)
