import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)
        )
        self.c3 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(inplace=True))
        self.c4 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(inplace=True))
        self.c5 = nn.Sequential(nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(inplace=True))

    def forward(self, x):
        c3 = self.c3(self.stem(x))
        c4 = self.c4(c3)
        return [c3, c4, self.c5(c4)]


class FPN(nn.Module):
    def __init__(self, channels=(16, 32, 64), dim=16):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(c, dim, 1) for c in channels])
        self.smooth = nn.ModuleList([nn.Conv2d(dim, dim, 3, padding=1) for _ in channels])

    def forward(self, feats):
        laterals = [conv(f) for conv, f in zip(self.lateral, feats, strict=True)]
        for i in range(len(laterals) - 1, 0, -1):
            up = F.interpolate(laterals[i], size=laterals[i - 1].shape[-2:], mode="nearest")
            laterals[i - 1] = laterals[i - 1] + up
        return [conv(x) for conv, x in zip(self.smooth, laterals, strict=True)]


class RPN(nn.Module):
    def __init__(self, dim=16, anchors=3):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3, padding=1)
        self.cls = nn.Conv2d(dim, anchors, 1)
        self.reg = nn.Conv2d(dim, anchors * 4, 1)

    def forward(self, feats):
        logits, deltas = [], []
        for f in feats:
            h = F.relu(self.conv(f))
            logits.append(self.cls(h).permute(0, 2, 3, 1).flatten(1))
            deltas.append(self.reg(h).permute(0, 2, 3, 1).reshape(f.size(0), -1, 4))
        return torch.cat(logits, 1), torch.cat(deltas, 1)


class Heads(nn.Module):
    def __init__(self, dim=16, classes=5):
        super().__init__()
        self.fc1 = nn.Linear(dim * 49, 64)
        self.fc2 = nn.Linear(64, 64)
        self.cls = nn.Linear(64, classes)
        self.box = nn.Linear(64, 4)
        self.mask = nn.Sequential(
            nn.Conv2d(dim, dim, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(dim, dim, 2, 2),
            nn.ReLU(),
            nn.Conv2d(dim, classes, 1),
        )

    def forward(self, rois):
        h = F.relu(self.fc2(F.relu(self.fc1(rois.flatten(1)))))
        return self.cls(h), self.box(h), self.mask(rois)


class MaskRCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.fpn, self.rpn, self.heads = Backbone(), FPN(), RPN(), Heads()

    def forward(self, images, targets):
        feats = self.fpn(self.backbone(images))
        logits, deltas = self.rpn(feats)
        with torch.no_grad():
            scores = logits.sigmoid()
            top = scores.topk(8, dim=1).indices
            boxes = deltas.gather(1, top[..., None].expand(-1, -1, 4)).sigmoid()
        rois = roi_pool(feats[0], boxes)
        cls, box, mask = self.heads(rois)
        loss_obj = F.binary_cross_entropy_with_logits(logits, targets["obj"])
        loss_rpn = F.smooth_l1_loss(deltas, targets["deltas"])
        loss_cls = F.cross_entropy(cls, targets["labels"])
        loss_box = F.smooth_l1_loss(box, targets["boxes"])
        idx = torch.arange(mask.size(0))
        loss_mask = F.binary_cross_entropy_with_logits(
            mask[idx, targets["labels"]], targets["masks"]
        )
        return {
            "obj": loss_obj,
            "rpn": loss_rpn,
            "cls": loss_cls,
            "box": loss_box,
            "mask": loss_mask,
        }


def roi_pool(feat, boxes):
    k = boxes.size(1)
    lin = torch.linspace(-1, 1, 7)
    gy, gx = torch.meshgrid(lin, lin, indexing="ij")
    grid = (
        torch.stack([gx, gy], -1)[None, None] * boxes[..., None, None, 2:]
        + boxes[..., None, None, :2]
    )
    feat = feat[:, None].expand(-1, k, -1, -1, -1).flatten(0, 1)
    return F.grid_sample(feat, grid.flatten(0, 1), align_corners=False)


model = MaskRCNN()
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=1e-4)
images = torch.randn(2, 3, 64, 64)
targets = {
    "obj": torch.rand(2, 1008).round(),
    "deltas": torch.randn(2, 1008, 4),
    "labels": torch.randint(0, 5, (16,)),
    "boxes": torch.randn(16, 4),
    "masks": torch.rand(16, 14, 14).round(),
}
# %% the recorded cell
loss_dict = model(images, targets)
losses = sum(loss for loss in loss_dict.values())
optimizer.zero_grad()
losses.backward()
optimizer.step()
