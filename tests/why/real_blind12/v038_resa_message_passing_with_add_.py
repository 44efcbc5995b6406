# https://github.com/voldemortX/pytorch-auto-drive/issues/121
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SpatialConv(nn.Module):
    """Passes messages from row to row, and from column to column."""

    def __init__(self, num_channels=8):
        super().__init__()
        self.conv_d = nn.Conv2d(num_channels, num_channels, (1, 5), padding=(0, 2))
        self.conv_u = nn.Conv2d(num_channels, num_channels, (1, 5), padding=(0, 2))
        self.conv_r = nn.Conv2d(num_channels, num_channels, (5, 1), padding=(2, 0))
        self.conv_l = nn.Conv2d(num_channels, num_channels, (5, 1), padding=(2, 0))

    def forward(self, input):
        output = input
        _, _, h, w = output.shape
        # Down
        for i in range(1, h):
            output[:, :, i:i + 1, :].add_(F.relu(self.conv_d(output[:, :, i - 1:i, :])))
        # Up
        for i in range(h - 2, -1, -1):
            output[:, :, i:i + 1, :].add_(F.relu(self.conv_u(output[:, :, i + 1:i + 2, :])))
        # Right
        for i in range(1, w):
            output[:, :, :, i:i + 1].add_(F.relu(self.conv_r(output[:, :, :, i - 1:i])))
        # Left
        for i in range(w - 2, -1, -1):
            output[:, :, :, i:i + 1].add_(F.relu(self.conv_l(output[:, :, :, i + 1:i + 2])))
        return output


class LaneNet(nn.Module):
    def __init__(self, lanes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.spatial = SpatialConv(8)
        self.classifier = nn.Conv2d(8, lanes + 1, 1)

    def forward(self, x):
        return self.classifier(self.spatial(self.backbone(x)))


# %%
net = LaneNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
inputs = torch.randn(2, 3, 12, 20)
labels = torch.randint(0, 5, (2, 6, 10))

# %%
for epoch in range(2):
    results = net(inputs)
    loss = F.cross_entropy(results, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
