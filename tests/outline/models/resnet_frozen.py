# A small ResNet with torchvision's names; layer3 is frozen, all else is trained
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.downsample = None
        if stride > 1:
            conv = nn.Conv2d(i, o, 1, stride, bias=False)
            self.downsample = nn.Sequential(conv, nn.BatchNorm2d(o))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


def stage(i, o, stride):
    return nn.Sequential(BasicBlock(i, o, stride), BasicBlock(o, o, 1))


class ResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = stage(8, 8, 1)
        self.layer2 = stage(8, 16, 2)
        self.layer3 = stage(16, 32, 2)
        self.layer4 = stage(32, 64, 2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


model = ResNet()
for p in model.layer3.parameters():
    p.requires_grad_(False)
model.train()
opt = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.01)
x, y = torch.randn(4, 3, 64, 64), torch.randint(10, (4,))
# %% the recorded cell
opt.zero_grad()
loss = F.cross_entropy(model(x), y)
loss.backward()
opt.step()
