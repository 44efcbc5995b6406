# A U-Net: four ways down, four ways up, four skips
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, 1, 1, bias=False)
        self.n1 = nn.GroupNorm(4, o)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.n2 = nn.GroupNorm(4, o)

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        return F.relu(self.n2(self.c2(x)))


def twice(x):
    return F.interpolate(x, scale_factor=2)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = Block(3, 8)
        self.down2 = Block(8, 16)
        self.down3 = Block(16, 32)
        self.down4 = Block(32, 64)
        self.mid = Block(64, 64)
        self.up4 = Block(128, 32)
        self.up3 = Block(64, 16)
        self.up2 = Block(32, 8)
        self.up1 = Block(16, 8)
        self.out = nn.Conv2d(8, 2, 1)

    def encode(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        d3 = self.down3(F.max_pool2d(d2, 2))
        d4 = self.down4(F.max_pool2d(d3, 2))
        return d1, d2, d3, d4

    def decode(self, m, d1, d2, d3, d4):
        u4 = self.up4(torch.cat([twice(m), d4], 1))
        u3 = self.up3(torch.cat([twice(u4), d3], 1))
        u2 = self.up2(torch.cat([twice(u3), d2], 1))
        u1 = self.up1(torch.cat([twice(u2), d1], 1))
        return self.out(u1)

    def forward(self, x):
        d1, d2, d3, d4 = self.encode(x)
        m = self.mid(F.max_pool2d(d4, 2))
        return self.decode(m, d1, d2, d3, d4)


model = UNet()
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(2, 3, 32, 32), torch.randint(2, (2, 32, 32))
# %% the recorded cell
opt.zero_grad()
masks = model(x)
loss = F.cross_entropy(masks, y)
loss.backward()
opt.step()
