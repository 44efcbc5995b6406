# https://github.com/osmr/imgclsmob/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DwsConvBlock(nn.Module):
    """Depthwise separable convolution block with batchnorm and ReLU pre-activation."""

    def __init__(self, in_channels, out_channels):
        super(DwsConvBlock, self).__init__()
        self.activ = nn.ReLU(inplace=True)
        self.dw_conv = nn.Conv2d(in_channels, in_channels, 3, padding=1, groups=in_channels, bias=False)
        self.pw_conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        x = self.activ(x)
        return self.bn(self.pw_conv(self.dw_conv(x)))


class XceptionUnit(nn.Module):
    def __init__(self, in_channels, out_channels, reps=2):
        super(XceptionUnit, self).__init__()
        self.resize_identity = in_channels != out_channels
        if self.resize_identity:
            self.identity_conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.body = nn.Sequential()
        for i in range(reps):
            self.body.add_module("block{}".format(i + 1), DwsConvBlock(in_channels if i == 0 else out_channels, out_channels))

    def forward(self, x):
        if self.resize_identity:
            identity = self.identity_conv(x)
        else:
            identity = x
        x = self.body(x)
        x = x + identity
        return x


class Xception(nn.Module):
    def __init__(self, num_classes=5):
        super(Xception, self).__init__()
        self.init_block = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8))
        self.stage = nn.Sequential(XceptionUnit(8, 16), XceptionUnit(16, 16))
        self.output = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.output(self.stage(self.init_block(x)).mean(dim=(2, 3)))


# %%
model = Xception()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(3):
    input, target = torch.randn(4, 3, 12, 12), torch.randint(0, 5, (4,))
    loss = criterion(model(input), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
