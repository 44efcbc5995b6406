# https://github.com/iMED-Lab/ER-Net/pull/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class ResEncoder(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(ResEncoder, self).__init__()
        self.conv1 = nn.Conv3d(in_channels, out_channels, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm3d(out_channels)
        self.conv2 = nn.Conv3d(out_channels, out_channels, kernel_size=3, padding=1)
        self.bn2 = nn.BatchNorm3d(out_channels)
        self.relu = nn.ReLU(inplace=False)
        self.conv1x1 = nn.Conv3d(in_channels, out_channels, kernel_size=1)

    def forward(self, x):
        residual = self.conv1x1(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out += residual
        out = self.relu(out)
        return out


class SmallERNet(nn.Module):
    def __init__(self, classes=1, channels=1):
        super(SmallERNet, self).__init__()
        self.encoder1 = ResEncoder(channels, 4)
        self.encoder2 = ResEncoder(4, 8)
        self.downsample = nn.MaxPool3d(2)
        self.up = nn.ConvTranspose3d(8, 4, kernel_size=2, stride=2)
        self.final = nn.Conv3d(4, classes, 1)

    def forward(self, x):
        enc1 = self.encoder1(x)
        bottom = self.encoder2(self.downsample(enc1))
        return torch.sigmoid(self.final(self.up(bottom) + enc1))


# %%
net = SmallERNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
image = torch.randn(2, 1, 8, 8, 8)
label = (torch.rand(2, 1, 8, 8, 8) > 0.7).float()

# %%
for epoch in range(3):
    optimizer.zero_grad()
    pred = net(image)
    loss = nn.functional.binary_cross_entropy(pred, label)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
