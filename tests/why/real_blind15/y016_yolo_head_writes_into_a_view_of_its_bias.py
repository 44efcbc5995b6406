# https://github.com/neuralmagic/sparseml/pull/94
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 16, 3, stride=4, padding=1), nn.LeakyReLU(0.1))
        self.stage2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.LeakyReLU(0.1))

    def forward(self, x):
        small = self.stage1(x)
        return [small, self.stage2(small)]


class YoloHead(nn.Module):
    """Gives box (4), objectness (1) and classes for each anchor of each cell."""

    def __init__(self, in_channels, num_classes, num_anchors=3):
        super().__init__()
        self.num_classes, self.num_anchors = num_classes, num_anchors
        self.conv = nn.Conv2d(in_channels, num_anchors * (5 + num_classes), kernel_size=1)

    def initialize(self):
        # smart bias initialization
        b = self.conv.bias.view(self.num_anchors, -1)
        b[:, 4] += math.log(8 / 640 ** 2)  # 8 objects per 640 image
        b[:, 5:] += math.log(0.6 / (self.num_classes - 0.99))  # cls
        self.conv.bias = nn.Parameter(b.view(-1), requires_grad=True)

    def forward(self, x):
        n, _, h, w = x.shape
        out = self.conv(x).view(n, self.num_anchors, 5 + self.num_classes, h, w)
        return out.permute(0, 1, 3, 4, 2)


def make_heads(num_classes):
    return nn.ModuleList([YoloHead(16, num_classes), YoloHead(32, num_classes)])


def batches(n):
    for _ in range(n):
        images = torch.rand(2, 3, 32, 32)
        yield images, [(torch.rand(2, 3, s, s) < 0.05).float() for s in (8, 4)]


backbone, heads = Backbone(), make_heads(num_classes=20)

# %%
for head in heads:
    head.initialize()

optimizer = torch.optim.SGD(list(backbone.parameters()) + list(heads.parameters()), lr=0.01)
for i, (images, objects) in enumerate(batches(5)):
    optimizer.zero_grad()
    outputs = [head(features) for head, features in zip(heads, backbone(images))]
    loss = sum(F.binary_cross_entropy_with_logits(out[..., 4], t) for out, t in zip(outputs, objects))
    loss.backward()
    optimizer.step()
    print(i, loss.item())
