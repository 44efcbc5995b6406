# https://github.com/milesial/Pytorch-UNet/blob/master/train.py
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(0)


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, width=8):
        super().__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.inc = DoubleConv(n_channels, width)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width, 2 * width))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(2 * width, 2 * width))
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.up1, self.up2 = DoubleConv(4 * width, width), DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up1(torch.cat([x2, self.up(x3)], dim=1))
        x = self.up2(torch.cat([x1, self.up(x)], dim=1))
        return self.outc(x)


class Discs(Dataset):
    def __init__(self, n, size=16):
        axis = torch.arange(size).float()
        center, radius = torch.rand(n, 2) * 8 + 4, torch.rand(n) * 2 + 2
        dist = (axis.view(1, 1, -1) - center[:, 0].view(-1, 1, 1)) ** 2 + (axis.view(1, -1, 1) - center[:, 1].view(-1, 1, 1)) ** 2
        self.masks = (dist.sqrt() < radius.view(-1, 1, 1)).float().unsqueeze(1)
        color = torch.rand(n, 3, 1, 1)
        self.images = 0.5 * self.masks * color + 0.3 * torch.rand(n, 3, size, size)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {'image': self.images[i], 'mask': self.masks[i]}


def eval_net(net, loader):
    """The mean dice coefficient."""
    net.eval()
    tot = 0
    for batch in loader:
        with torch.no_grad():
            pred = (torch.sigmoid(net(batch['image'])) > 0.5).float()
        inter = (pred * batch['mask']).sum((1, 2, 3))
        tot += (2 * inter / (pred.sum((1, 2, 3)) + batch['mask'].sum((1, 2, 3)) + 1e-6)).mean().item()
    net.train()
    return tot / len(loader)


# %%
dataset = Discs(180)
n_val = 30
train, val = random_split(dataset, [len(dataset) - n_val, n_val])
train_loader = DataLoader(train, batch_size=10, shuffle=True)
val_loader = DataLoader(val, batch_size=10, drop_last=True)
net = UNet(n_channels=3, n_classes=1)
optimizer = optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'max', patience=2)
criterion = nn.BCEWithLogitsLoss()
scores, epoch_losses, histograms = [eval_net(net, val_loader)], [], {}

# %%
for epoch in range(5):
    net.train()
    epoch_loss = 0
    for batch in train_loader:
        imgs, true_masks = batch['image'], batch['mask']
        masks_pred = net(imgs)
        loss = criterion(masks_pred, true_masks)
        epoch_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.1)
        optimizer.step()
    for tag, value in net.named_parameters():
        histograms[tag] = value.grad.data.cpu().numpy().copy()
    scores.append(eval_net(net, val_loader))
    scheduler.step(scores[-1])
    epoch_losses.append(epoch_loss / len(train_loader))

# %%
print(epoch_losses, scores)
assert max(abs(h).max() for h in histograms.values()) <= 0.1 + 1e-6
assert epoch_losses[-1] < 0.6 * epoch_losses[0] and scores[-1] > 0.85
