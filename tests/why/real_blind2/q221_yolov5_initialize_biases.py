# https://github.com/DataXujing/YOLO-v5/issues/23
import math

import torch
import torch.nn as nn


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super(Conv, self).__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.Hardswish()

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
            p = self.m[i](x[i])
            bs, _, ny, nx = p.shape
            out.append(p.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return out


# %%
class Model(nn.Module):
    def __init__(self, cfg, ch=3, nc=None):
        super(Model, self).__init__()
        self.yaml = dict(cfg)
        if nc and nc != self.yaml['nc']:
            self.yaml['nc'] = nc  # override yaml value
        self.stem = Conv(ch, 8, 3, 2)
        self.p3 = Conv(8, 8, 3, 2)
        self.p4 = Conv(8, 16, 3, 2)
        self.detect = Detect(self.yaml['nc'], self.yaml['anchors'], (8, 16))

        # Build strides, anchors
        s = 64  # minimum stride
        with torch.no_grad():
            self.detect.stride = torch.tensor([s / x.shape[-2] for x in self.forward(torch.zeros(1, ch, s, s))])
        self.detect.anchors /= self.detect.stride.view(-1, 1, 1)
        self._initialize_biases()  # only run once

    def forward(self, x):
        p3 = self.p3(self.stem(x))
        return self.detect([p3, self.p4(p3)])

    def _initialize_biases(self, cf=None):  # initialize biases into Detect(), cf is class frequency
        m = self.detect  # Detect() module
        for mi, s in zip(m.m, m.stride):  # from
            b = mi.bias.view(m.na, -1)  # conv.bias(255) to (3,85)
            b[:, 4] = b[:, 4] + math.log(8 / (640 / s) ** 2)  # obj (8 objects per 640 image)
            b[:, 5:] = b[:, 5:] + math.log(0.6 / (m.nc - 0.99))  # cls
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)


# %%
cfg = {'nc': 3, 'anchors': [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119]]}
device = torch.device('cpu')

# %%
model = Model(cfg).to(device)
