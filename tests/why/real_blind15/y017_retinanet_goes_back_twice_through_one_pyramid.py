# https://github.com/kuangliu/pytorch-retinanet/issues/38
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FPN(nn.Module):
    def __init__(self, planes=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, stride=4, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.lateral1 = nn.Conv2d(16, planes, kernel_size=1)
        self.lateral2 = nn.Conv2d(32, planes, kernel_size=1)
        self.smooth = nn.Conv2d(planes, planes, kernel_size=3, padding=1)

    def forward(self, x):
        c1 = F.relu(self.bn1(self.conv1(x)))
        c2 = F.relu(self.bn2(self.conv2(c1)))
        p2 = self.lateral2(c2)
        p1 = F.interpolate(p2, scale_factor=2) + self.lateral1(c1)
        return self.smooth(p1), p2


class RetinaNet(nn.Module):
    num_anchors = 9
    num_classes = 20

    def __init__(self):
        super(RetinaNet, self).__init__()
        self.fpn = FPN()
        self.loc_head = self._make_head(self.num_anchors * 4)
        self.cls_head = self._make_head(self.num_anchors * self.num_classes)

    def forward(self, x):
        loc_preds, cls_preds = [], []
        for fm in self.fpn(x):
            loc_preds.append(self._flat(self.loc_head(fm), 4))
            cls_preds.append(self._flat(self.cls_head(fm), self.num_classes))
        return torch.cat(loc_preds, 1), torch.cat(cls_preds, 1)

    def _flat(self, pred, last):
        return pred.permute(0, 2, 3, 1).contiguous().view(pred.size(0), -1, last)

    def _make_head(self, out_planes):
        layers = []
        for _ in range(2):
            layers.append(nn.Conv2d(32, 32, kernel_size=3, stride=1, padding=1))
            layers.append(nn.ReLU(True))
        layers.append(nn.Conv2d(32, out_planes, kernel_size=3, stride=1, padding=1))
        return nn.Sequential(*layers)


# %%
net = RetinaNet()
loc_preds, cls_preds = net(torch.randn(2, 3, 64, 64))
print(loc_preds.size())
print(cls_preds.size())
loc_grads = torch.randn(loc_preds.size())
cls_grads = torch.randn(cls_preds.size())
loc_preds.backward(loc_grads)
cls_preds.backward(cls_grads)
print(net.fpn.conv1.weight.grad.norm())
