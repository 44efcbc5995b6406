# https://github.com/lzx1413/PytorchSSD/issues/72
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init

torch.manual_seed(0)


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale):
        super(L2Norm, self).__init__()
        self.n_channels = n_channels
        self.gamma = scale or None
        self.eps = 1e-10
        self.weight = nn.Parameter(torch.Tensor(self.n_channels))
        init.constant_(self.weight, self.gamma)

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps
        x /= norm
        out = self.weight.unsqueeze(0).unsqueeze(2).unsqueeze(3).expand_as(x) * x
        return out


class SSD(nn.Module):
    def __init__(self, num_classes=4):
        super(SSD, self).__init__()
        self.num_classes = num_classes
        self.base = nn.ModuleList([
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()])
        self.Norm = L2Norm(8, 20)
        self.extras = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.loc = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)])
        self.conf = nn.ModuleList([nn.Conv2d(8, 2 * num_classes, 3, padding=1) for _ in range(2)])

    def forward(self, x):
        sources, loc, conf = [], [], []
        for layer in self.base:
            x = layer(x)
        sources.append(self.Norm(x))
        x = F.relu(self.extras(x))
        sources.append(x)
        for (x, l, c) in zip(sources, self.loc, self.conf):
            loc.append(l(x).permute(0, 2, 3, 1).contiguous())
            conf.append(c(x).permute(0, 2, 3, 1).contiguous())
        loc = torch.cat([o.view(o.size(0), -1) for o in loc], 1)
        conf = torch.cat([o.view(o.size(0), -1) for o in conf], 1)
        return loc.view(loc.size(0), -1, 4), conf.view(conf.size(0), -1, self.num_classes)


# %%
net = SSD()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
images = torch.randn(2, 3, 16, 16)

# %%
# train
loc, conf = net(images)
targets_loc, targets_conf = torch.randn_like(loc), torch.randint(4, conf.shape[:2])
loss_l = F.smooth_l1_loss(loc, targets_loc)
loss_c = F.cross_entropy(conf.view(-1, 4), targets_conf.view(-1))
optimizer.zero_grad()
loss = loss_l + loss_c
loss.backward()
optimizer.step()
