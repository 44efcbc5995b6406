# https://github.com/rimchang/Faster-RCNN-Pytorch-Simple/issues/2
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
np.random.seed(0)


def to_tensor(x):
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def to_var(x):
    return Variable(x)


class FRCNN(nn.Module):
    def __init__(self, features=24, hidden=32, classes=4):
        super().__init__()
        self.fcs = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.cls_fc = nn.Linear(hidden, classes)
        self.bbox_fc = nn.Linear(hidden, classes * 4)

    def forward(self, roi_pool):
        x = self.fcs(roi_pool)
        return self.cls_fc(x), self.bbox_fc(x)


def frcnn_loss(frcnn_logits, frcnn_bbox_pred, frcnn_labels, frcnn_bbox_targets, frcnn_bbox_inside_weights):
    frcnn_labels = to_var(to_tensor(frcnn_labels).long())
    cls_loss = nn.CrossEntropyLoss()(frcnn_logits, frcnn_labels)

    # masking for only foreground box loss
    frcnn_bbox_inside_weights = to_tensor(frcnn_bbox_inside_weights)
    frcnn_bbox_targets = to_tensor(frcnn_bbox_targets)
    frcnn_bbox_pred = to_var(torch.mul(frcnn_bbox_pred.data, frcnn_bbox_inside_weights))
    frcnn_bbox_targets = to_var(torch.mul(frcnn_bbox_targets, frcnn_bbox_inside_weights))

    reg_loss = nn.SmoothL1Loss()(frcnn_bbox_pred, frcnn_bbox_targets)
    return cls_loss, reg_loss


def rois(n=48, features=24, classes=4):
    roi_pool = np.random.randn(n, features).astype(np.float32)
    labels = (np.abs(roi_pool[:, 0]) * 2).astype(np.int64).clip(0, classes - 1)
    targets = np.zeros((n, classes * 4), dtype=np.float32)
    inside = np.zeros((n, classes * 4), dtype=np.float32)
    for i, label in enumerate(labels):
        if label > 0:
            targets[i, 4 * label:4 * label + 4] = roi_pool[i, 1:5]
            inside[i, 4 * label:4 * label + 4] = 1
    return torch.from_numpy(roi_pool), labels, targets, inside


# %%
model = FRCNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for i in range(40):
    roi_pool, labels, targets, inside = rois()
    logits, bbox_pred = model(roi_pool)
    cls_loss, reg_loss = frcnn_loss(logits, bbox_pred, labels, targets, inside)
    loss = cls_loss + 10 * reg_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, cls_loss.item(), reg_loss.item())
