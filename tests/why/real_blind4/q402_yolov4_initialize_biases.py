# https://github.com/WongKinYiu/PyTorch_YOLOv4/issues/435
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


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
        x = list(x)
        for i in range(self.nl):
            x[i] = self.m[i](x[i])  # conv
            bs, _, ny, nx = x[i].shape  # x(bs,255,20,20) to x(bs,3,20,20,85)
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
        return x


class Model(nn.Module):
    def __init__(self, head, ch=3):  # model, input channels
        super(Model, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(ch, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1))
        self.conv2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.LeakyReLU(0.1))
        self.detect = head

        # Build strides, anchors
        m = self.detect
        s = 32  # 2x min stride
        m.stride = torch.tensor([s / x.shape[-2] for x in self.forward(torch.zeros(1, ch, s, s))])  # forward
        m.anchors /= m.stride.view(-1, 1, 1)
        self.stride = m.stride
        self._initialize_biases()  # only run once

    def forward(self, x):
        y1 = self.conv1(x)
        y2 = self.conv2(y1)
        return self.detect([y1, y2])

    def _initialize_biases(self, cf=None):  # initialize biases into Detect(), cf is class frequency
        # cf = torch.bincount(torch.tensor(np.concatenate(dataset.labels, 0)[:, 0]).long(), minlength=nc) + 1.
        m = self.detect
        for mi, s in zip(m.m, m.stride):  # from
            b = mi.bias.view(m.na, -1)  # conv.bias(255) to (3,85)
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # obj (8 objects per 640 image)
            b[:, 5:] += math.log(0.6 / (m.nc - 0.99)) if cf is None else torch.log(cf / cf.sum())  # cls
            mi.bias = torch.nn.Parameter(b.view(-1), requires_grad=True)


def train(hyp, head, epochs=1):
    device = torch.device('cpu')
    model = Model(head).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=hyp['lr0'], momentum=hyp['momentum'], nesterov=True)
    for epoch in range(epochs):
        imgs = torch.rand(2, 3, 64, 64)
        pred = model(imgs)
        loss = sum(nn.functional.binary_cross_entropy_with_logits(p[..., 4], torch.zeros_like(p[..., 4])) for p in pred)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(epoch, loss.item())
    return model


# %%
hyp = {'lr0': 0.01, 'momentum': 0.937}
head = Detect(nc=4, anchors=[[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119]], ch=[8, 16])
model = train(hyp, head)
