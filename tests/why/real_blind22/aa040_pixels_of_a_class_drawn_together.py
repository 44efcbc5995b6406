# https://github.com/tfzhou/ContrastiveSeg/issues/68
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PixelContrastLoss(nn.Module):
    def __init__(self, temperature=0.1, base_temperature=0.07, ignore_label=255, max_samples=64, max_views=4):
        super(PixelContrastLoss, self).__init__()
        self.temperature = temperature
        self.base_temperature = base_temperature
        self.ignore_label = ignore_label
        self.max_samples = max_samples
        self.max_views = max_views

    def _anchor_sampling(self, X, y_hat):
        classes, total_classes = [], 0
        for this_y in y_hat:
            this_classes = [x for x in torch.unique(this_y) if x != self.ignore_label]
            this_classes = [x for x in this_classes if (this_y == x).nonzero().shape[0] > self.max_views]
            classes.append(this_classes)
            total_classes += len(this_classes)
        n_view = min(self.max_samples // total_classes, self.max_views)
        X_, y_ = [], []
        for ii, this_classes in enumerate(classes):
            for cls_id in this_classes:
                indices = (y_hat[ii] == cls_id).nonzero()
                perm = torch.randperm(indices.shape[0])
                X_.append(X[ii, indices[perm[:n_view]], :].squeeze(1))
                y_.append(cls_id)
        return torch.stack(X_), torch.stack(y_).float()

    def _contrastive(self, feats_, labels_):
        anchor_num, n_view = feats_.shape[0], feats_.shape[1]
        labels_ = labels_.contiguous().view(-1, 1)
        mask = torch.eq(labels_, torch.transpose(labels_, 0, 1)).float()

        contrast_count = n_view
        contrast_feature = torch.cat(torch.unbind(feats_, dim=1), dim=0)
        anchor_feature, anchor_count = contrast_feature, contrast_count

        anchor_dot_contrast = torch.div(torch.matmul(anchor_feature, torch.transpose(contrast_feature, 0, 1)), self.temperature)
        logits_max, _ = torch.max(anchor_dot_contrast, dim=1, keepdim=True)
        logits = anchor_dot_contrast - logits_max.detach()

        mask = mask.repeat(anchor_count, contrast_count)
        neg_mask = 1 - mask
        logits_mask = torch.ones_like(mask).scatter_(1, torch.arange(anchor_num * anchor_count).view(-1, 1), 0)
        mask = mask * logits_mask

        neg_logits = torch.exp(logits) * neg_mask
        neg_logits = neg_logits.sum(1, keepdim=True)
        exp_logits = torch.exp(logits)

        log_prob = logits - torch.log(exp_logits + neg_logits)
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)
        loss = - (self.temperature / self.base_temperature) * mean_log_prob_pos
        return loss.mean()

    def forward(self, feats, labels):
        labels = F.interpolate(labels.unsqueeze(1).float(), feats.shape[2:], mode='nearest').squeeze(1).long()
        labels = labels.view(labels.shape[0], -1)
        feats = feats.permute(0, 2, 3, 1).reshape(feats.shape[0], -1, feats.shape[1])
        feats_, labels_ = self._anchor_sampling(feats, labels)
        return self._contrastive(feats_, labels_)


class ContrastCELoss(nn.Module):
    def __init__(self, loss_weight=0.1):
        super(ContrastCELoss, self).__init__()
        self.loss_weight = loss_weight
        self.seg_criterion = nn.CrossEntropyLoss(ignore_index=255)
        self.contrast_criterion = PixelContrastLoss()

    def forward(self, preds, target):
        seg = F.interpolate(preds['seg'], size=target.shape[1:], mode='bilinear', align_corners=True)
        return self.seg_criterion(seg, target) + self.loss_weight * self.contrast_criterion(preds['embed'], target)


class SegNet(nn.Module):
    def __init__(self, num_classes=4, proj_dim=32):
        super(SegNet, self).__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU(),
                                      nn.Conv2d(24, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU())
        self.cls_head = nn.Conv2d(48, num_classes, 1)
        self.proj_head = nn.Sequential(nn.Conv2d(48, 48, 1), nn.BatchNorm2d(48), nn.ReLU(), nn.Conv2d(48, proj_dim, 1),
                                       nn.BatchNorm2d(proj_dim))

    def forward(self, x):
        c = self.backbone(x)
        return {'seg': self.cls_head(c), 'embed': self.proj_head(c)}


# %%
net = SegNet()
criterion = ContrastCELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
target = torch.randint(0, 4, (4, 4, 4)).repeat_interleave(8, 1).repeat_interleave(8, 2)
images = torch.stack([(target == c).float() for c in (1, 2, 3)], dim=1) + 0.3 * torch.randn(4, 3, 32, 32)

# %%
losses = []
for step in range(4):
    outputs = net(images)
    loss = criterion(outputs, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
