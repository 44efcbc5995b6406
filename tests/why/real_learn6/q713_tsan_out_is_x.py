# https://github.com/Jee-King/TSAN/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ASPPBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branches = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=d, dilation=d) for d in (1, 2, 3))
        self.fuse = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        out = x
        for branch in self.branches:
            out += branch(x)
        return self.fuse(out)


class TSAN(nn.Module):
    def __init__(self, n_feats=8):
        super().__init__()
        self.head = nn.Conv2d(3, n_feats, 3, padding=1)
        self.body = ASPPBlock(n_feats)
        self.tail = nn.Conv2d(n_feats, 3, 3, padding=1)

    def forward(self, x):
        x = self.head(x)
        return self.tail(self.body(x))


# %%
net = TSAN()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)

# %%
lr, hr = torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)
optimizer.zero_grad()
loss = F.l1_loss(net(lr), hr)
loss.backward()
optimizer.step()
