# https://github.com/RangiLyu/nanodet/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GFLHead(nn.Module):
    def __init__(self, num_classes=3, input_channel=8, loss_bbox_weight=2.0):
        super().__init__()
        self.cls_out_channels = num_classes
        self.cls_convs = nn.Conv2d(input_channel, input_channel, 3, padding=1)
        self.gfl_cls = nn.Conv2d(input_channel, num_classes, 1)
        self.gfl_reg = nn.Conv2d(input_channel, 4, 1)
        self.loss_bbox_weight = loss_bbox_weight

    def forward(self, feats):
        x = F.relu(self.cls_convs(feats))
        return self.gfl_cls(x), F.softplus(self.gfl_reg(x))

    def loss(self, preds, gt_meta):
        cls_scores, bbox_preds = preds
        labels, bbox_targets = gt_meta['labels'], gt_meta['bbox_targets']  # label num_classes: background
        cls_scores = cls_scores.permute(0, 2, 3, 1).reshape(-1, self.cls_out_channels)
        bbox_preds = bbox_preds.permute(0, 2, 3, 1).reshape(-1, 4)
        pos_inds = torch.nonzero((labels >= 0) & (labels < self.cls_out_channels)).squeeze(1)
        weight_targets = cls_scores.detach().sigmoid().max(dim=1)[0][pos_inds]
        avg_factor = weight_targets.sum().item()

        if avg_factor <= 0:
            loss_qfl = torch.tensor(0, dtype=torch.float32)
            loss_bbox = torch.tensor(0, dtype=torch.float32)
            loss_dfl = torch.tensor(0, dtype=torch.float32)
        else:
            onehot = F.one_hot(labels, self.cls_out_channels + 1)[:, :-1].float()
            loss_qfl = F.binary_cross_entropy_with_logits(cls_scores, onehot, reduction='sum') / avg_factor
            diff = F.l1_loss(bbox_preds[pos_inds], bbox_targets[pos_inds], reduction='none')
            loss_bbox = self.loss_bbox_weight * (diff.sum(1) * weight_targets).sum() / avg_factor
            loss_dfl = 0.25 * (diff.pow(2).sum(1) * weight_targets).sum() / avg_factor
        loss = loss_qfl + loss_bbox + loss_dfl
        return loss, dict(loss_qfl=loss_qfl, loss_bbox=loss_bbox, loss_dfl=loss_dfl)


class OneStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.head = GFLHead()

    def forward_train(self, gt_meta):
        preds = self.head(F.relu(self.backbone(gt_meta['img'])))
        loss, loss_states = self.head.loss(preds, gt_meta)
        return preds, loss, loss_states


def batch(n_objects):
    labels = torch.full((2 * 16,), 3)
    labels[torch.randperm(32)[:n_objects]] = torch.randint(3, (n_objects,))
    return {'img': torch.randn(2, 3, 8, 8), 'labels': labels, 'bbox_targets': torch.rand(32, 4)}


# %%
model = OneStage()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
train_loader = [batch(5), batch(3), batch(0), batch(4)]

# %%
for it, meta in enumerate(train_loader):
    output, loss, loss_stats = model.forward_train(meta)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, {k: round(v.item(), 3) for k, v in loss_stats.items()})
