# https://github.com/lyongo/NWPU-MOC/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvModule(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding)
        self.activate = nn.ReLU(inplace=False)

    def forward(self, x):
        return self.activate(self.conv(x))


class FPN(nn.Module):
    def __init__(self, in_channels=(4, 8, 16), out_channels=8):
        super().__init__()
        self.in_channels = in_channels
        self.lateral_convs = nn.ModuleList([ConvModule(c, out_channels, 1) for c in in_channels])
        self.fpn_convs = nn.ModuleList([ConvModule(out_channels, out_channels, 3, padding=1) for _ in in_channels])

    def forward(self, inputs):
        assert len(inputs) == len(self.in_channels)
        # build laterals
        laterals = [lateral_conv(inputs[i]) for i, lateral_conv in enumerate(self.lateral_convs)]

        # build top-down path
        used_backbone_levels = len(laterals)
        for i in range(used_backbone_levels - 1, 0, -1):
            prev_shape = laterals[i - 1].shape[2:]
            laterals[i - 1] += F.interpolate(laterals[i], size=prev_shape, mode='nearest')

        # build outputs
        outs = [self.fpn_convs[i](laterals[i]) for i in range(used_backbone_levels)]
        return tuple(outs)


class MultiModalCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Conv2d(6, 4, 3, padding=1)
        self.stage2 = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.stage3 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.neck = FPN()
        self.de_pred = nn.Conv2d(8, 1, 1)

    def forward(self, rgb, nir):
        c1 = F.relu(self.stage1(torch.cat([rgb, nir], 1)))
        c2 = F.relu(self.stage2(c1))
        c3 = F.relu(self.stage3(c2))
        return self.de_pred(self.neck([c1, c2, c3])[0])


# %%
net = MultiModalCounter()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
rgb, nir, gt_map = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16), torch.rand(2, 1, 16, 16)

# %%
optimizer.zero_grad()
pred_map = net(rgb, nir)
loss = F.mse_loss(pred_map, gt_map)
loss.backward()
optimizer.step()
print(loss.item(), pred_map.sum().item())
