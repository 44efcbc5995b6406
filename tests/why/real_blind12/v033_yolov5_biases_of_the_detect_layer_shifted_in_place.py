# https://github.com/xhwNobody/yolov5_prune_sfp/issues/17
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Detect(nn.Module):
    def __init__(self, nc=4, anchors=((10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119)), ch=(8, 16)):
        super(Detect, self).__init__()
        self.nc = nc
        self.no = nc + 5
        self.na = len(anchors[0]) // 2
        self.stride = None
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)

    def forward(self, x):
        outputs = []
        for conv, feature in zip(self.m, x):
            out = conv(feature)
            bs, _, ny, nx = out.shape
            outputs.append(out.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return outputs


class Model(nn.Module):
    def __init__(self, nc=4):
        super(Model, self).__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(3, 8, 3, stride=8, padding=1), nn.SiLU())
        self.stage2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.SiLU())
        self.head_self = Detect(nc)
        s = 128  # 2x min stride
        self.head_self.stride = torch.tensor([s / x.shape[-2] for x in self.forward(torch.zeros(1, 3, s, s))])
        self._initialize_biases()  # only run once

    def forward(self, x):
        p1 = self.stage1(x)
        return self.head_self([p1, self.stage2(p1)])

    def _initialize_biases(self, cf=None):  # initialize biases into Detect(), cf is class frequency
        m = self.head_self  # Detect() module
        for mi, s in zip(m.m, m.stride):  # from
            b = mi.bias.view(m.na, -1)  # conv.bias(255) to (3,85)
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # obj (8 objects per 640 image)
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())  # cls
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)


# %%
imgs = torch.rand(2, 3, 64, 64)
criterion = nn.BCEWithLogitsLoss()

# %%
model_dst = Model(nc=4)
optimizer = torch.optim.SGD(model_dst.parameters(), lr=0.01)
for step in range(2):
    loss = sum(criterion(p[..., 4], torch.zeros_like(p[..., 4])) for p in model_dst(imgs))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
