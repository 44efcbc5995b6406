# https://github.com/tristandb/EfficientDet-PyTorch/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DepthwiseConvBlock(nn.Module):
    def __init__(self, channels):
        super(DepthwiseConvBlock, self).__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.act = nn.ReLU()

    def forward(self, inputs):
        return self.act(self.bn(self.pointwise(self.depthwise(inputs))))


class BiFPNBlock(nn.Module):
    """Bi-directional feature pyramid network"""

    def __init__(self, feature_size=8, epsilon=0.0001):
        super(BiFPNBlock, self).__init__()
        self.epsilon = epsilon
        self.p3_td, self.p4_td = DepthwiseConvBlock(feature_size), DepthwiseConvBlock(feature_size)
        self.p4_out, self.p5_out = DepthwiseConvBlock(feature_size), DepthwiseConvBlock(feature_size)
        self.w1 = nn.Parameter(torch.ones(2, 2))
        self.w1_relu = nn.ReLU()
        self.w2 = nn.Parameter(torch.ones(3, 2))
        self.w2_relu = nn.ReLU()

    def forward(self, inputs):
        p3_x, p4_x, p5_x = inputs
        w1 = self.w1_relu(self.w1)
        w1 /= torch.sum(w1, dim=0) + self.epsilon
        w2 = self.w2_relu(self.w2)
        w2 /= torch.sum(w2, dim=0) + self.epsilon

        p5_td = p5_x
        p4_td = self.p4_td(w1[0, 0] * p4_x + w1[1, 0] * F.interpolate(p5_td, scale_factor=2))
        p3_out = self.p3_td(w1[0, 1] * p3_x + w1[1, 1] * F.interpolate(p4_td, scale_factor=2))
        p4_out = self.p4_out(w2[0, 0] * p4_x + w2[1, 0] * p4_td + w2[2, 0] * F.max_pool2d(p3_out, 2))
        p5_out = self.p5_out(w2[0, 1] * p5_x + w2[1, 1] * p5_td + w2[2, 1] * F.max_pool2d(p4_out, 2))
        return [p3_out, p4_out, p5_out]


class EfficientDet(nn.Module):
    def __init__(self, feature_size=8, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, feature_size, 3, padding=1)
        self.bifpn = BiFPNBlock(feature_size)
        self.classifier = nn.Linear(3 * feature_size, classes)

    def forward(self, images):
        p3 = self.stem(images)
        features = self.bifpn([p3, F.max_pool2d(p3, 2), F.max_pool2d(p3, 4)])
        return self.classifier(torch.cat([f.mean((2, 3)) for f in features], dim=1))


model = EfficientDet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for iter_num in range(2):
    images, labels = torch.randn(4, 1, 16, 16), torch.randint(0, 3, (4,))
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iter_num, loss.item())
