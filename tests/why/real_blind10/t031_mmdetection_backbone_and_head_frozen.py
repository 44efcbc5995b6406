# https://github.com/open-mmlab/mmdetection/issues/3667
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FPN(nn.Module):
    """The neck: a pooling without parameters."""
    def forward(self, feats):
        return tuple(F.adaptive_avg_pool2d(f, 4) for f in feats)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = nn.Conv2d(8, 16, 3, stride=2, padding=1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return x, F.relu(self.layer1(x))


class RetinaHead(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.cls = nn.Conv2d(24, num_classes, 1)
        self.reg = nn.Conv2d(24, 4, 1)

    def forward(self, feats):
        x = torch.cat(feats, dim=1)
        return self.cls(x), self.reg(x)

    def loss(self, cls_score, bbox_pred, gt_labels, gt_bboxes):
        return dict(loss_cls=F.cross_entropy(cls_score, gt_labels),
                    loss_bbox=F.l1_loss(bbox_pred, gt_bboxes))


class SingleStageDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.neck = FPN()
        self.bbox_head = RetinaHead()

        for v in self.backbone.parameters():
            v.requires_grad = False

        for v in self.bbox_head.parameters():
            v.requires_grad = False

    def forward_train(self, img, gt_labels, gt_bboxes):
        x = self.neck(self.backbone(img))
        return self.bbox_head.loss(*self.bbox_head(x), gt_labels, gt_bboxes)

    def train_step(self, data):
        losses = self.forward_train(**data)
        loss = sum(losses.values())
        return dict(loss=loss, num_samples=len(data['img']))


# %%
model = SingleStageDetector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
data = dict(img=torch.randn(2, 3, 32, 32), gt_labels=torch.randint(0, 3, (2, 4, 4)), gt_bboxes=torch.rand(2, 4, 4, 4))

# %%
for _ in range(3):
    outputs = model.train_step(data)
    optimizer.zero_grad()
    outputs['loss'].backward()
    optimizer.step()
