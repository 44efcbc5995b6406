# https://github.com/hukaixuan19970627/yolov5_obb/issues/14
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Detect(nn.Module):
    stride = None

    def __init__(self, nc=16, anchors=(), ch=()):
        super(Detect, self).__init__()
        self.nc = nc
        self.angle = 18
        self.no = nc + 5 + self.angle
        self.nl = len(anchors)
        self.na = len(anchors[0]) // 2
        a = torch.tensor(anchors).float().view(self.nl, -1, 2)
        self.register_buffer('anchors', a)
        self.register_buffer('anchor_grid', a.clone().view(self.nl, 1, -1, 1, 1, 2))
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)

    def forward(self, x):
        x = list(x)
        for i in range(self.nl):
            x[i] = self.m[i](x[i])
            bs, _, ny, nx = x[i].shape
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
        return x


class Backbone(nn.Module):
    def __init__(self, ch):
        super(Backbone, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(ch, 8, 4, stride=4), nn.SiLU())
        self.p3 = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.SiLU())
        self.p4 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.SiLU())

    def forward(self, x):
        p3 = self.p3(self.stem(x))
        return p3, self.p4(p3)


class Model(nn.Module):
    def __init__(self, cfg, ch=3, nc=None):
        super(Model, self).__init__()
        self.yaml = cfg
        if nc and nc != self.yaml['nc']:
            self.yaml['nc'] = nc
        self.model = nn.Sequential(Backbone(ch), Detect(self.yaml['nc'], self.yaml['anchors'], (8, 16)))

        # Build strides, anchors
        m = self.model[-1]  # Detect()
        if isinstance(m, Detect):
            s = 128  # 2x min stride
            m.stride = torch.tensor([s / x.shape[-2] for x in self.forward(torch.zeros(1, ch, s, s))])
            m.anchors /= m.stride.view(-1, 1, 1)
            self.stride = m.stride
            self._initialize_biases()  # only run once

    def forward(self, x):
        return self.model(x)

    def _initialize_biases(self, cf=None):
        m = self.model[-1]  # Detect() module
        for mi, s in zip(m.m, m.stride):
            b = mi.bias.view(m.na, -1)  # conv.bias(255) to (3,85)
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # obj (8 objects per 640 image)
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())  # cls
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)


# %%
cfg = {'nc': 4, 'anchors': [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119]]}
imgs = torch.rand(2, 3, 64, 64)

# %%
model = Model(cfg, ch=3, nc=3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
for epoch in range(2):
    pred = model(imgs)
    loss = sum(nn.functional.binary_cross_entropy_with_logits(p[..., 4], torch.zeros_like(p[..., 4])) for p in pred)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
