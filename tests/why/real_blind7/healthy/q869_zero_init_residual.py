# https://github.com/pytorch/vision/blob/main/torchvision/models/resnet.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Net(nn.Module):
    def __init__(self, zero_init_residual=True):
        super().__init__()
        self.stem, self.block, self.fc = nn.Conv2d(3, 8, 3), BasicBlock(8), nn.Linear(8, 5)
        # Zero-initialize the last BN in each residual branch, so that the residual branch starts with zeros
        if zero_init_residual:
            nn.init.constant_(self.block.bn2.weight, 0)

    def forward(self, x):
        return self.fc(self.block(self.stem(x)).mean((2, 3)))


# %%
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

# %%
images, target = torch.rand(8, 3, 8, 8), torch.randint(0, 5, (8,))
loss = nn.functional.cross_entropy(net(images), target)
optimizer.zero_grad()
loss.backward()
print(net.block.conv1.weight.grad.abs().max(), net.block.bn2.weight.grad.abs().max())
optimizer.step()
