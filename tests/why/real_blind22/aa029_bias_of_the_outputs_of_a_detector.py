# https://github.com/WongKinYiu/ScaledYOLOv4/issues/191
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super(Conv, self).__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, nc=80, anchors=(), ch=()):  # detection layer
        super(Detect, self).__init__()
        self.stride = None  # strides computed during build
        self.nc = nc  # number of classes
        self.no = nc + 5  # number of outputs per anchor
        self.nl = len(anchors)  # number of detection layers
        self.na = len(anchors[0]) // 2  # number of anchors
        a = torch.tensor(anchors).float().view(self.nl, -1, 2)
        self.register_buffer('anchors', a)  # shape(nl,na,2)
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)  # output conv

    def forward(self, x):
        out = []
        for i in range(self.nl):
            y = self.m[i](x[i])  # conv
            bs, _, ny, nx = y.shape
            out.append(y.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return out


class Model(nn.Module):
    def __init__(self, ch=3, nc=2, anchors=((13, 17, 31, 25), (48, 54, 51, 88))):
        super(Model, self).__init__()
        self.stem = Conv(ch, 16, 3, 2)
        self.down = Conv(16, 32, 3, 2)
        self.model = nn.ModuleList([self.stem, self.down, Detect(nc, anchors, (16, 32))])

        # Build strides, anchors
        m = self.model[-1]  # Detect()
        s = 128  # 2x min stride
        m.stride = torch.tensor([s / x.shape[-2] for x in self.forward(torch.zeros(1, ch, s, s))])
        m.anchors /= m.stride.view(-1, 1, 1)
        self.stride = m.stride
        self._initialize_biases()  # only run once

    def forward(self, x):
        x1 = self.stem(x)
        return self.model[-1]([x1, self.down(x1)])

    def _initialize_biases(self, cf=None):  # initialize biases into Detect(), cf is class frequency
        m = self.model[-1]  # Detect() module
        for mi, s in zip(m.m, m.stride):  # from
            b = mi.bias.view(m.na, -1)  # conv.bias(255) to (3,85)
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # obj (8 objects per 640 image)
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())  # cls
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)


# %%
hyp = {'lr0': 0.01, 'momentum': 0.937, 'weight_decay': 0.0005, 'cls': 0.5, 'obj': 1.0}
nc = 2
imgs = torch.randn(2, 3, 64, 64)

# %%
model = Model(nc=nc)
optimizer = torch.optim.SGD(model.parameters(), lr=hyp['lr0'], momentum=hyp['momentum'], nesterov=True)
pred = model(imgs)
loss = sum(nn.functional.binary_cross_entropy_with_logits(p[..., 4], torch.zeros_like(p[..., 4])) for p in pred)
loss.backward()
optimizer.step()
