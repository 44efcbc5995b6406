# https://github.com/open-mmlab/mmdetection/issues/437
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Conv2d(inplanes, planes, 1, stride, bias=False)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_stages=2, out_indices=(1,), frozen_stages=-1, norm_eval=True):
        super(ResNet, self).__init__()
        self.out_indices = out_indices
        self.frozen_stages = frozen_stages
        self.norm_eval = norm_eval
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.res_layers = []
        for i in range(num_stages):
            layer_name = 'layer{}'.format(i + 1)
            self.add_module(layer_name, BasicBlock(8 * 2 ** i, 8 * 2 ** (i + 1), stride=1 + i))
            self.res_layers.append(layer_name)
        self._freeze_stages()

    def _freeze_stages(self):
        if self.frozen_stages >= 0:
            self.bn1.eval()
            for m in [self.conv1, self.bn1]:
                for param in m.parameters():
                    param.requires_grad = False

        for i in range(1, self.frozen_stages + 1):
            m = getattr(self, 'layer{}'.format(i))
            m.eval()
            for param in m.parameters():
                param.requires_grad = False

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        outs = []
        for i, layer_name in enumerate(self.res_layers):
            res_layer = getattr(self, layer_name)
            x = res_layer(x)
            if i in self.out_indices:
                outs.append(x)
        return tuple(outs)

    def train(self, mode=True):
        super(ResNet, self).train(mode)
        self._freeze_stages()
        if mode and self.norm_eval:
            for m in self.modules():
                # trick: eval have effect on BatchNorm only
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self


class Detector(nn.Module):
    """One box for a picture."""
    def __init__(self, backbone):
        super(Detector, self).__init__()
        self.backbone = backbone
        self.bbox_head = nn.Sequential(nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 25, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, img, gt_bboxes=None):
        bbox_pred = self.bbox_head(self.backbone(img)[0])
        if gt_bboxes is None:
            return bbox_pred
        return dict(loss_bbox=F.smooth_l1_loss(bbox_pred, gt_bboxes, beta=0.1))


def scenes(n):
    s, place = torch.randint(3, 7, (n,)), torch.rand(n, 2)
    x, y = ((place[:, i] * (11 - s)).long() for i in range(2))
    row, column = torch.arange(10).view(1, 10, 1), torch.arange(10).view(1, 1, 10)
    inside = (row >= y.view(-1, 1, 1)) & (row < (y + s).view(-1, 1, 1)) & (column >= x.view(-1, 1, 1)) & (column < (x + s).view(-1, 1, 1))
    return inside.float().unsqueeze(1) + 0.1 * torch.randn(n, 1, 10, 10), torch.stack([x, y, x + s, y + s], 1) / 10


# %%
# a backbone that has learned beforehand how large the squares are
backbone = ResNet(frozen_stages=-1, norm_eval=False)
pretext = nn.Linear(32, 1)
opt = torch.optim.Adam([*backbone.parameters(), *pretext.parameters()], lr=3e-3)
backbone.train()
for _ in range(40):
    img, boxes = scenes(32)
    opt.zero_grad()
    F.mse_loss(pretext(backbone(img)[0].mean((2, 3))).squeeze(1), boxes[:, 2] - boxes[:, 0]).backward()
    opt.step()
opt.zero_grad()

# %%
model = Detector(ResNet(frozen_stages=1, norm_eval=True))
model.backbone.load_state_dict(backbone.state_dict())
before = {n: t.clone() for n, t in model.backbone.state_dict().items()}
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.05, momentum=0.9, weight_decay=1e-4)
losses = []
for epoch in range(3):
    model.train()
    for i in range(25):
        img, gt_bboxes = scenes(32)
        loss = sum(model(img, gt_bboxes).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

# %%
changed = [n for n, t in model.backbone.state_dict().items() if not torch.equal(before[n], t)]
statistics = [n for n in changed if 'running' in n or 'num_batches' in n]
frozen = [n for n in changed if n.startswith(('conv1', 'bn1', 'layer1'))]
model.eval()
with torch.no_grad():
    img, gt_bboxes = scenes(200)
    error = (model(img) - gt_bboxes).abs().mean().item()
    by_mean = (gt_bboxes - gt_bboxes.mean(0)).abs().mean().item()
print(changed, losses[0], losses[-1], error, by_mean)
assert not statistics and not frozen and 'layer2.bn1.weight' in changed and error < 0.4 * by_mean
