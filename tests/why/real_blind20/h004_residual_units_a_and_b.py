# http://discuss.pytorch.org/t/in-place-operation-and-resnet/10724
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


# implementation 1
class ResidualUnitA(nn.Module):
    def __init__(self):
        super(ResidualUnitA, self).__init__()
        self.conv_0 = nn.Conv2d(3, 24, 3, padding=1, bias=False)
        self.bn_0 = nn.BatchNorm2d(24)
        self.conv_1 = nn.Conv2d(24, 24, 3, padding=1, bias=False)
        self.bn_1 = nn.BatchNorm2d(24)

    def forward(self, x):
        x = self.conv_0(x)
        x = self.bn_0(x)
        x = F.relu(x, inplace=True)

        residual = self.conv_1(x)
        residual = self.bn_1(residual)
        x += residual
        x = F.relu(x, inplace=True)
        return x


# implementation 2
class ResidualUnitB(nn.Module):
    def __init__(self):
        super(ResidualUnitB, self).__init__()
        self.conv_0 = nn.Conv2d(3, 24, 3, padding=1, bias=False)
        self.bn_0 = nn.BatchNorm2d(24)
        self.conv_1 = nn.Conv2d(24, 24, 3, padding=1, bias=False)
        self.bn_1 = nn.BatchNorm2d(24)

    def forward(self, x):
        x = self.conv_0(x)
        x = self.bn_0(x)
        x = F.relu(x, inplace=True)

        identity = x
        x = self.conv_1(x)
        x = self.bn_1(x)
        x += identity
        x = F.relu(x, inplace=True)
        return x


def run(unit, images, target):
    loss = F.mse_loss(unit(images).mean(dim=(2, 3)), target)
    loss.backward()
    return loss.item()


# %%
images = torch.randn(4, 3, 8, 8)
target = torch.rand(4, 24)
unit_b = ResidualUnitB()
print("B", run(unit_b, images, target))

# %%
unit_a = ResidualUnitA()
print("A", run(unit_a, images, target))
