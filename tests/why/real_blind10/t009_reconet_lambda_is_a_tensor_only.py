# https://github.com/CWanli/RecoNet/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TGM(nn.Module):
    """One rank-one map: the outer product of a pooled height, width and channel."""
    def __init__(self, channel):
        super().__init__()
        self.h = nn.Sequential(nn.AdaptiveAvgPool2d((None, 1)), nn.Conv2d(channel, 1, 1), nn.Sigmoid())
        self.w = nn.Sequential(nn.AdaptiveAvgPool2d((1, None)), nn.Conv2d(channel, 1, 1), nn.Sigmoid())
        self.c = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channel, channel, 1), nn.Sigmoid())

    def forward(self, x):
        return self.c(x) * self.h(x) * self.w(x)


class RecoNet(nn.Module):
    def __init__(self, in_channel=3, channel=8, rank=4, classes=5):
        super().__init__()
        self.rank = rank
        self.conv1 = nn.Conv2d(in_channel, channel, 3, padding=1)
        self.generate = nn.ModuleList([TGM(channel) for _ in range(rank)])
        self.lam = torch.ones(self.rank, requires_grad=True)
        self.conv2 = nn.Conv2d(channel, classes, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        att = sum(self.lam[i] * self.generate[i](x) for i in range(self.rank))
        return self.conv2(x + x * att)


# %%
model = RecoNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=10, power=0.9)
images, masks = torch.randn(2, 3, 12, 12), torch.randint(0, 5, (2, 12, 12))

# %%
for it in range(10):
    out = model(images)
    loss = criterion(out, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
torch.save(model.state_dict(), '/dev/null')
print(loss.item(), model.lam, 'lam' in model.state_dict())
