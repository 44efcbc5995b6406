# https://github.com/open-mmlab/mmdetection/pull/9450
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvModule(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, act_cfg=None, inplace=True):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.with_activation = act_cfg is not None
        if self.with_activation:
            self.activate = getattr(nn, act_cfg['type'])(inplace=inplace)

    def forward(self, x):
        x = self.conv(x)
        if self.with_activation:
            x = self.activate(x)
        return x


class PAFPN(nn.Module):
    """Path Aggregation Network for Instance Segmentation."""

    def __init__(self, in_channels, out_channels, act_cfg=None):
        super().__init__()
        self.in_channels = in_channels
        self.lateral_convs = nn.ModuleList()
        self.fpn_convs = nn.ModuleList()
        for channels in in_channels:
            self.lateral_convs.append(ConvModule(channels, out_channels, 1, act_cfg=act_cfg, inplace=False))
            self.fpn_convs.append(
                ConvModule(out_channels, out_channels, 3, padding=1, act_cfg=act_cfg, inplace=False))

        # add extra bottom up pathway
        self.downsample_convs = nn.ModuleList()
        self.pafpn_convs = nn.ModuleList()
        for i in range(1, len(in_channels)):
            self.downsample_convs.append(
                ConvModule(out_channels, out_channels, 3, stride=2, padding=1, act_cfg=act_cfg, inplace=False))
            self.pafpn_convs.append(
                ConvModule(out_channels, out_channels, 3, padding=1, act_cfg=act_cfg, inplace=False))

    def forward(self, inputs):
        assert len(inputs) == len(self.in_channels)

        # build laterals
        laterals = [lateral_conv(inputs[i]) for i, lateral_conv in enumerate(self.lateral_convs)]

        # build top-down path
        used_backbone_levels = len(laterals)
        for i in range(used_backbone_levels - 1, 0, -1):
            prev_shape = laterals[i - 1].shape[2:]
            laterals[i - 1] += F.interpolate(laterals[i], size=prev_shape, mode='nearest')

        # part 1: from original levels
        inter_outs = [self.fpn_convs[i](laterals[i]) for i in range(used_backbone_levels)]

        # part 2: add bottom-up path
        for i in range(0, used_backbone_levels - 1):
            inter_outs[i + 1] += self.downsample_convs[i](inter_outs[i])

        outs = [inter_outs[0]]
        outs.extend([self.pafpn_convs[i - 1](inter_outs[i]) for i in range(1, used_backbone_levels)])
        return tuple(outs)


class Detector(nn.Module):
    def __init__(self, channels=(8, 16, 32), num_classes=3):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Conv2d(c_in, c_out, 3, stride=2, padding=1) for c_in, c_out in zip((3, 8, 16), channels))
        self.neck = PAFPN(list(channels), 16, act_cfg=dict(type='ReLU'))
        self.head = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        feats = []
        for stage in self.stages:
            x = torch.tanh(stage(x))
            feats.append(x)
        return [self.head(out) for out in self.neck(feats)]


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

# %%
for it in range(3):
    img, gt = torch.rand(2, 3, 32, 32), torch.randint(0, 3, (2,))
    cls_scores = model(img)
    losses = [F.cross_entropy(score.mean(dim=(2, 3)), gt) for score in cls_scores]
    loss = sum(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, loss.item())
