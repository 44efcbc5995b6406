# https://github.com/Goingqs/PyramidBox/issues/7
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils import data

torch.manual_seed(0)
args = SimpleNamespace(batch_size=4, lr=1e-3, gamma=0.1, start_iter=0)
num_classes = 1 + 1
max_iter = 40
stepvalues = (25, 35)


class SFD(nn.Module):
    """Boxes and confidences at two scales, each for the face and for the head around it"""

    def __init__(self, num_classes):
        super().__init__()
        self.num_classes = num_classes
        self.backbone = nn.ModuleList([nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU()),
                                       nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())])
        self.loc, self.conf = nn.ModuleList(), nn.ModuleList()
        for channels in (8, 16):
            self.loc.append(nn.Conv2d(channels, 2 * 4, 3, padding=1))
            self.conf.append(nn.Conv2d(channels, 2 * num_classes, 3, padding=1))
        centers = [torch.cartesian_prod(*[(torch.arange(n) + 0.5) / n] * 2) for n in (8, 4)]
        self.priors = torch.cat([torch.cat([c, torch.full_like(c, 2 / n)], dim=1) for c, n in zip(centers, (8, 4))])

    def forward(self, x):
        locs, confs = [], []
        for block, loc, conf in zip(self.backbone, self.loc, self.conf):
            x = block(x)
            locs.append(loc(x).permute(0, 2, 3, 1).reshape(x.size(0), -1, 2, 4))
            confs.append(conf(x).permute(0, 2, 3, 1).reshape(x.size(0), -1, 2, self.num_classes))
        loc, conf = torch.cat(locs, dim=1), torch.cat(confs, dim=1)
        return loc[:, :, 0], conf[:, :, 0], self.priors, loc[:, :, 1], conf[:, :, 1], self.priors


class MultiBoxLoss(nn.Module):
    def __init__(self, num_classes, threshold, negpos_ratio=3):
        super().__init__()
        self.num_classes, self.threshold, self.negpos_ratio = num_classes, threshold, negpos_ratio

    def forward(self, predictions, targets):
        loc_data, conf_data, priors = predictions
        distance = (priors[:, :2].unsqueeze(0) - targets[:, :2].unsqueeze(1)).abs().amax(dim=2)
        pos = distance < self.threshold
        loc_t = (targets.unsqueeze(1) - priors) / priors[:, 2:].repeat(1, 2)
        loss_l = F.smooth_l1_loss(loc_data[pos], loc_t[pos], reduction='sum')

        # Hard Negative Mining
        with torch.no_grad():
            loss_c = F.cross_entropy(conf_data.flatten(0, 1), pos.long().flatten(), reduction='none').view_as(pos)
            loss_c[pos] = 0
            idx_rank = loss_c.sort(1, descending=True)[1].sort(1)[1]
            neg = idx_rank < self.negpos_ratio * pos.sum(1, keepdim=True)
        chosen = pos | neg
        loss_c = F.cross_entropy(conf_data[chosen], pos[chosen].long(), reduction='sum')
        N = pos.sum().clamp(min=1)
        return loss_l / N, loss_c / N


class Detection(data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        center, size = 0.2 + 0.6 * torch.rand(2), 0.2 + 0.2 * torch.rand(1)
        grid = torch.stack(torch.meshgrid(*[torch.linspace(0, 1, 32)] * 2, indexing='ij'))
        face = ((grid - center.view(2, 1, 1)).abs() < size / 2).all(dim=0).float()
        return face + 0.1 * torch.randn(3, 32, 32), torch.cat([center, size, size])


net = SFD(num_classes)
optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=0.0001)
criterion = MultiBoxLoss(num_classes, 0.15)


def train():
    net.train()
    data_loader = data.DataLoader(Detection(), args.batch_size, shuffle=True)
    epoch_size = len(data_loader)
    for iteration in range(args.start_iter, max_iter):
        if iteration % epoch_size == 0:
            batch_iterator = iter(data_loader)
        if iteration in stepvalues:
            for param_group in optimizer.param_groups:
                param_group['lr'] *= args.gamma
        images, targets = next(batch_iterator)
        # forward
        out = net(images)
        # backprop
        optimizer.zero_grad()
        loss_l, loss_c = criterion(tuple(out[0:3]), targets)
        loss_l_head, loss_c_head = criterion(tuple(out[3:6]), targets * torch.tensor([1, 1, 1.5, 1.5]))

        loss = loss_l + loss_c + 0.5 * loss_l_head + 0.5 * loss_c_head
        optimizer.step()
        losses.append(loss.item())
        if iteration % 10 == 0:
            print('iter ' + repr(iteration) + ' || Loss: %.4f' % loss.item())


# %%
losses = []
train()
