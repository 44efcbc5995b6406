# https://discuss.pytorch.org/t/what-does-requires-grad-false-on-batchnorm2d-perform/137904
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)

    def forward(self, x):
        return x + self.conv1(F.relu(self.bn1(x)))


class WideResNet(nn.Module):
    def __init__(self, num_classes=10, width=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.block1 = BasicBlock(width)
        self.block2 = BasicBlock(width)
        self.bn = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, num_classes)

    def features(self, x):
        return self.bn(self.block2(self.block1(self.conv1(x))))

    def forward(self, x):
        return self.fc(F.relu(self.features(x)).mean(dim=(2, 3)))


pretrained = WideResNet()
for _ in range(10):  # the statistics of the data that it was trained on
    pretrained(torch.randn(16, 3, 8, 8))

# %%
model = copy.deepcopy(pretrained)
for name, param in model.named_parameters():
    param.requires_grad = name.startswith("fc.")
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)

for epoch in range(3):
    model.train()
    for _ in range(10):
        images, labels = 2.0 + 3.0 * torch.randn(16, 3, 8, 8), torch.randint(0, 10, (16,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

pretrained.eval()
model.eval()
sample = torch.randn(4, 3, 8, 8)
with torch.no_grad():
    before, after = pretrained.features(sample), model.features(sample)
print("largest difference", (before - after).abs().max().item())
