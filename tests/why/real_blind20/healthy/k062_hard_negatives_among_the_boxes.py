# https://github.com/amdegroot/ssd.pytorch/blob/master/layers/modules/multibox_loss.py
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)


def point_form(boxes):
    return torch.cat((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), 1)


def jaccard(box_a, box_b):
    max_xy = torch.min(box_a[:, None, 2:], box_b[None, :, 2:])
    min_xy = torch.max(box_a[:, None, :2], box_b[None, :, :2])
    inter = torch.clamp(max_xy - min_xy, min=0).prod(2)
    return inter / ((box_a[:, 2:] - box_a[:, :2]).prod(1)[:, None] + (box_b[:, 2:] - box_b[:, :2]).prod(1)[None] - inter)


def encode(matched, priors, variances):
    g_cxcy = ((matched[:, :2] + matched[:, 2:]) / 2 - priors[:, :2]) / (variances[0] * priors[:, 2:])
    g_wh = torch.log((matched[:, 2:] - matched[:, :2]) / priors[:, 2:]) / variances[1]
    return torch.cat([g_cxcy, g_wh], 1)


def match(threshold, truths, priors, variances, labels, loc_t, conf_t, idx):
    overlaps = jaccard(truths, point_form(priors))
    best_prior_overlap, best_prior_idx = overlaps.max(1)
    best_truth_overlap, best_truth_idx = overlaps.max(0)
    best_truth_overlap.index_fill_(0, best_prior_idx, 2)  # ensure best prior
    conf = labels[best_truth_idx].long() + 1
    conf[best_truth_overlap < threshold] = 0  # label as background
    loc_t[idx] = encode(truths[best_truth_idx], priors, variances)
    conf_t[idx] = conf


def log_sum_exp(x):
    x_max = x.data.max()
    return torch.log(torch.sum(torch.exp(x - x_max), 1, keepdim=True)) + x_max


class MultiBoxLoss(nn.Module):
    def __init__(self, num_classes, overlap_thresh, neg_pos):
        super(MultiBoxLoss, self).__init__()
        self.num_classes, self.threshold, self.negpos_ratio, self.variance = num_classes, overlap_thresh, neg_pos, [0.1, 0.2]

    def forward(self, predictions, targets):
        loc_data, conf_data, priors = predictions
        num, num_priors = loc_data.size(0), priors.size(0)

        loc_t = torch.Tensor(num, num_priors, 4)
        conf_t = torch.LongTensor(num, num_priors)
        for idx in range(num):
            truths, labels = targets[idx][:, :-1].data, targets[idx][:, -1].data
            match(self.threshold, truths, priors.data, self.variance, labels, loc_t, conf_t, idx)
        loc_t, conf_t = Variable(loc_t, requires_grad=False), Variable(conf_t, requires_grad=False)
        pos = conf_t > 0

        # Localization Loss (Smooth L1)
        pos_idx = pos.unsqueeze(pos.dim()).expand_as(loc_data)
        loc_p = loc_data[pos_idx].view(-1, 4)
        loc_t = loc_t[pos_idx].view(-1, 4)
        loss_l = F.smooth_l1_loss(loc_p, loc_t, reduction='sum')

        # Compute max conf across batch for hard negative mining
        batch_conf = conf_data.view(-1, self.num_classes)
        loss_c = log_sum_exp(batch_conf) - batch_conf.gather(1, conf_t.view(-1, 1))

        # Hard Negative Mining
        loss_c[pos.view(-1, 1)] = 0  # filter out pos boxes for now
        loss_c = loss_c.view(num, -1)
        _, loss_idx = loss_c.sort(1, descending=True)
        _, idx_rank = loss_idx.sort(1)
        num_pos = pos.long().sum(1, keepdim=True)
        num_neg = torch.clamp(self.negpos_ratio * num_pos, max=pos.size(1) - 1)
        neg = idx_rank < num_neg.expand_as(idx_rank)

        # Confidence Loss Including Positive and Negative Examples
        pos_idx, neg_idx = pos.unsqueeze(2).expand_as(conf_data), neg.unsqueeze(2).expand_as(conf_data)
        conf_p = conf_data[(pos_idx + neg_idx).gt(0)].view(-1, self.num_classes)
        targets_weighted = conf_t[(pos + neg).gt(0)]
        loss_c = F.cross_entropy(conf_p, targets_weighted, reduction='sum')

        N = num_pos.data.sum()
        loss_l /= N.float()
        loss_c /= N.float()
        return loss_l, loss_c


class SSD(nn.Module):
    def __init__(self, num_classes):
        super(SSD, self).__init__()
        self.vgg = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(inplace=True),
                                 nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(inplace=True))
        self.loc, self.conf = nn.Conv2d(32, 2 * 4, 3, 1, 1), nn.Conv2d(32, 2 * num_classes, 3, 1, 1)
        self.num_classes = num_classes
        c = (torch.arange(4) + 0.5) / 4
        self.priors = torch.stack([torch.stack([x, y, s, s]) for y in c for x in c for s in (torch.tensor(0.3), torch.tensor(0.5))])

    def forward(self, x):
        x = self.vgg(x)
        loc, conf = (l(x).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1) for l in (self.loc, self.conf))
        return loc.view(x.size(0), -1, 4), conf.view(x.size(0), -1, self.num_classes), self.priors


def scenes(n):
    """A bright or a dark square of five to eight pixels on sixteen by sixteen."""
    images, targets = 0.1 * torch.randn(n, 1, 16, 16), []
    for i in range(n):
        s, kind = int(torch.randint(5, 9, (1,))), int(torch.randint(0, 2, (1,)))
        x, y = (int(k) for k in torch.randint(0, 17 - s, (2,)))
        images[i, 0, y:y + s, x:x + s] += 1 if kind else -1
        targets.append(torch.tensor([[x / 16, y / 16, (x + s) / 16, (y + s) / 16, float(kind)]]))
    return images, targets


# %%
net = SSD(num_classes=3)
criterion = MultiBoxLoss(3, 0.5, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=2e-2, momentum=0.9, weight_decay=5e-4)
losses = []
for iteration in range(130):
    images, targets = scenes(16)
    out = net(Variable(images))
    optimizer.zero_grad()
    loss_l, loss_c = criterion(out, targets)
    loss = loss_l + loss_c
    loss.backward()
    optimizer.step()
    losses.append((loss_l.item(), loss_c.item()))

# %%
images, targets = scenes(100)
with torch.no_grad():
    loc, conf, priors = net(images)
    scores = F.softmax(conf, 2)[:, :, 1:]
    best, kinds = scores.max(2)[0].argmax(1), scores.max(1)[0].argmax(1)
    p = priors[best]
    l = loc[torch.arange(100), best]
    found = point_form(torch.cat([p[:, :2] + l[:, :2] * 0.1 * p[:, 2:], p[:, 2:] * torch.exp(l[:, 2:] * 0.2)], 1))
    truth = torch.cat(targets)
    overlap = jaccard(truth[:, :4], found).diagonal().mean().item()
right = (kinds == truth[:, 4]).float().mean().item()
print(losses[0], losses[-1], right, overlap)
assert right > 0.9 and overlap > 0.6 and losses[-1][1] < 0.5 * losses[0][1]
