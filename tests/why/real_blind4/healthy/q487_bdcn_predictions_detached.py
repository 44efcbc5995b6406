# https://github.com/pkuCactus/BDCN/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MSBlock(nn.Module):
    def __init__(self, c_in, rate=2):
        super(MSBlock, self).__init__()
        self.conv = nn.Conv2d(c_in, 8, 3, stride=1, padding=1)
        self.conv1 = nn.Conv2d(8, 8, 3, stride=1, dilation=rate, padding=rate)

    def forward(self, x):
        o = F.relu(self.conv(x))
        return o + F.relu(self.conv1(o))


class BDCN(nn.Module):
    def __init__(self):
        super(BDCN, self).__init__()
        self.features = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)])
        self.msblocks = nn.ModuleList([MSBlock(8) for _ in range(3)])
        self.down = nn.ModuleList([nn.Conv2d(8, 1, 1) for _ in range(3)])
        self.score_dsn = nn.ModuleList([nn.Conv2d(1, 1, 1) for _ in range(3)])
        self.score_dsn_1 = nn.ModuleList([nn.Conv2d(1, 1, 1) for _ in range(3)])
        self.fuse = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        size = x.shape[2:]
        sides, h = [], x
        for i, conv in enumerate(self.features):
            h = F.relu(conv(h if i == 0 else F.max_pool2d(h, 2, ceil_mode=True)))
            sides.append(self.down[i](self.msblocks[i](h)))
        up = [F.interpolate(s, size=size, mode='bilinear', align_corners=False) for s in sides]
        s1, s2, s3 = [score(u) for score, u in zip(self.score_dsn, up)]
        s11, s21, s31 = [score(u) for score, u in zip(self.score_dsn_1, up)]

        o1, o2, o3 = s1.detach(), s2.detach(), s3.detach()
        o11, o21, o31 = s11.detach(), s21.detach(), s31.detach()
        p1_1 = s1
        p2_1 = s2 + o1
        p3_1 = s3 + o2 + o1
        p1_2 = s11 + o21 + o31
        p2_2 = s21 + o31
        p3_2 = s31
        fuse = self.fuse(torch.cat([p1_1, p2_1, p3_1, p1_2, p2_2, p3_2], 1))
        return [p1_1, p2_1, p3_1, p1_2, p2_2, p3_2, fuse]


def cross_entropy_loss2d(inputs, targets, balance=1.1):
    weights = torch.where(targets > 0.5, 1 - targets.mean(), targets.mean() * balance)
    return F.binary_cross_entropy(torch.sigmoid(inputs), targets, weight=weights, reduction='sum')


# %%
model = BDCN()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=0.9, weight_decay=0.0002)
for step in range(3):
    images, labels = torch.rand(1, 3, 12, 12), (torch.rand(1, 1, 12, 12) > 0.9).float()
    out = model(images)
    loss = 0
    for k in range(6):
        loss += 0.5 * cross_entropy_loss2d(out[k], labels)
    loss += 1.1 * cross_entropy_loss2d(out[-1], labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('iter: %d, loss: %f' % (step, loss.item()))
