# https://github.com/yaoppeng/U-Net_v2/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SDI(nn.Module):
    def __init__(self, channel):
        super().__init__()

        self.convs = nn.ModuleList(
            [nn.Conv2d(channel, channel, kernel_size=3, stride=1, padding=1)] * 4)

    def forward(self, xs, anchor):
        ans = torch.ones_like(anchor)
        target_size = anchor.shape[-1]

        for i, x in enumerate(xs):
            if x.shape[-1] > target_size:
                x = F.adaptive_avg_pool2d(x, (target_size, target_size))
            elif x.shape[-1] < target_size:
                x = F.interpolate(x, size=(target_size, target_size),
                                  mode='bilinear', align_corners=True)

            ans = ans * self.convs[i](x)

        return ans


# %%
sdi = SDI(4)
head = nn.Conv2d(4, 2, 1)
optimizer = torch.optim.Adam([*sdi.parameters(), *head.parameters()], lr=1e-3)
fs = [torch.rand(2, 4, size, size) for size in (16, 8, 4, 2)]
gts = torch.randint(0, 2, (2, 8, 8))

# %%
for epoch in range(5):
    optimizer.zero_grad()
    pred = head(sdi(fs, fs[1]))
    loss = F.cross_entropy(pred, gts)
    loss.backward()
    optimizer.step()
print(loss.item(), sum(p.numel() for p in sdi.parameters()))
