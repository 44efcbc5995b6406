# https://github.com/thomasjpfan/pytorch_refinenet/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F


class ResidualConvUnit(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1, bias=False)

    def forward(self, x):
        out = self.conv1(F.relu(x))
        out = self.conv2(F.relu(out))
        return out + x


class MultiResolutionFusion(nn.Module):
    def __init__(self, out_feats, *shapes):
        super().__init__()
        max_size = max(size for _, size in shapes)
        for i, (feat, size) in enumerate(shapes):
            self.add_module("resolve{}".format(i), nn.Sequential(
                nn.Conv2d(feat, out_feats, 3, padding=1, bias=False),
                nn.Upsample(scale_factor=max_size // size, mode='nearest')))

    def forward(self, *xs):
        return sum(self.__getattr__("resolve{}".format(i))(x) for i, x in enumerate(xs))


class ChainedResidualPool(nn.Module):
    def __init__(self, feats):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.MaxPool2d(5, stride=1, padding=2),
            nn.Conv2d(feats, feats, 3, padding=1, bias=False)) for _ in range(2))

    def forward(self, x):
        x = F.relu(x)
        out = x
        for block in self.blocks:
            out = block(out)
            x = x + out
        return x


class RefineNetBlock(nn.Module):
    def __init__(self, features, *shapes):
        super().__init__()
        for i, (feats, _) in enumerate(shapes):
            self.add_module("rcu{}".format(i), nn.Sequential(
                ResidualConvUnit(feats), ResidualConvUnit(feats)))
        self.mrf = MultiResolutionFusion(features, *shapes) if len(shapes) != 1 else None
        self.crp = ChainedResidualPool(features)
        self.output_conv = ResidualConvUnit(features)

    def forward(self, *xs):
        for i, x in enumerate(xs):
            x = (self.__getattr__("rcu{}".format(i))(x))

        if self.mrf is not None:
            out = self.mrf(*xs)
        else:
            out = xs[0]

        out = self.crp(out)
        return self.output_conv(out)


# %%
class RefineNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.layer1 = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.layer2 = nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.refinenet2 = RefineNetBlock(6, (6, 4))
        self.refinenet1 = RefineNetBlock(4, (4, 8), (6, 4))
        self.clf_conv = nn.Conv2d(4, num_classes, 1)

    def forward(self, x):
        l1 = F.relu(self.layer1(x))
        l2 = F.relu(self.layer2(l1))
        path = self.refinenet2(l2)
        return self.clf_conv(self.refinenet1(l1, path))


net = RefineNet()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
image, mask = torch.randn(2, 3, 16, 16), torch.randint(3, (2, 8, 8))

# %%
for it in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(image), mask)
    loss.backward()
    optimizer.step()
    print(it, loss.item())
