# https://github.com/uoip/SSD-variants/issues/7
import itertools
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale=20):
        super(L2Norm, self).__init__()
        self.weight = nn.Parameter(torch.Tensor(n_channels))
        nn.init.constant_(self.weight, scale)

    def forward(self, x):
        x /= (x.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-10)
        out = self.weight.unsqueeze(0).unsqueeze(2).unsqueeze(3).expand_as(x) * x
        return out


def VGG16():
    return nn.Sequential(OrderedDict([
        ('conv1_1', nn.Conv2d(3, 8, 3, padding=1)),
        ('pool1', nn.MaxPool2d(2, stride=2)),
        ('conv4_3', nn.Conv2d(8, 16, 3, padding=1)),
        ('pool4', nn.MaxPool2d(2, stride=2)),
        ('conv7', nn.Conv2d(16, 32, 1)),
    ]))


class SSD300(nn.Module):
    config = {'aspect_ratios': ((1/2., 1, 2), (1/3., 1/2., 1, 2, 3), (1/2., 1, 2))}

    def __init__(self, n_classes):
        super(SSD300, self).__init__()
        self.n_classes = n_classes

        self.Base = VGG16()
        self.Extra = nn.Sequential(OrderedDict([
            ('extra1_1', nn.Conv2d(32, 8, 1)),
            ('extra1_2', nn.Conv2d(8, 16, 3, padding=1, stride=2)),
        ]))
        self.pred_layers = ['conv4_3', 'conv7', 'extra1_2']
        n_channels = [16, 32, 16]

        self.L2Norm = nn.ModuleList([L2Norm(16, 20)])
        self.norm_layers = ['conv4_3']   # decrease prediction layers' influence on backbone

        self.Loc = nn.ModuleList([])
        self.Conf = nn.ModuleList([])
        for i, ar in enumerate(self.config['aspect_ratios']):
            n = len(ar) + 1
            self.Loc.append(nn.Conv2d(n_channels[i], n * 4, 3, padding=1))
            self.Conf.append(nn.Conv2d(n_channels[i], n * (self.n_classes + 1), 3, padding=1))

    def forward(self, x):
        xs = []
        for name, m in itertools.chain(self.Base._modules.items(), self.Extra._modules.items()):
            if isinstance(m, nn.Conv2d):
                x = F.relu(m(x), inplace=True)
            else:
                x = m(x)

            if name in self.pred_layers:
                if name in self.norm_layers:
                    xs.append(self.L2Norm[self.norm_layers.index(name)](x))
                else:
                    xs.append(x)
        return self._prediction(xs)

    def _prediction(self, xs):
        locs, confs = [], []
        for i, x in enumerate(xs):
            loc = self.Loc[i](x)
            locs.append(loc.permute(0, 2, 3, 1).contiguous().view(loc.size(0), -1, 4))
            conf = self.Conf[i](x)
            confs.append(conf.permute(0, 2, 3, 1).contiguous().view(conf.size(0), -1, self.n_classes + 1))
        return torch.cat(locs, dim=1), torch.cat(confs, dim=1)


class MultiBoxLoss(nn.Module):
    def forward(self, xloc, xconf, loc, label):
        pos_mask = label > 0
        loc_loss = F.smooth_l1_loss(xloc[pos_mask], loc[pos_mask], reduction='sum')
        conf_loss = F.cross_entropy(xconf.flatten(0, 1), label.flatten(), reduction='sum')
        n_pos = pos_mask.sum().clamp(min=1)
        return loc_loss / n_pos, conf_loss / n_pos


# %%
model = SSD300(n_classes=3)
criterion = MultiBoxLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
img = torch.rand(2, 3, 32, 32)
xloc, xconf = model(img)

# %%
for step in range(3):
    img = torch.rand(2, 3, 32, 32)
    loc, label = torch.randn(2, xloc.size(1), 4), torch.randint(0, 4, (2, xloc.size(1)))
    xloc, xconf = model(img)
    loc_loss, conf_loss = criterion(xloc, xconf, loc, label)
    loss = loc_loss + conf_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
