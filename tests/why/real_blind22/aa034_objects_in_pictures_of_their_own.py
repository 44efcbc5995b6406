# https://github.com/sgrvinod/a-PyTorch-Tutorial-to-Object-Detection/issues/53
import xml.etree.ElementTree as ET

import torch
import torch.nn as nn

torch.manual_seed(0)

label_map = {'background': 0, 'dog': 1, 'cat': 2}
ANNOTATIONS = [
    [('dog', 20, 60, 120, 180), ('cat', 150, 30, 210, 90)],
    [('cat', 40, 20, 90, 140)],
    [('dog', 100, 110, 280, 250)],
    [('dog', 10, 10, 70, 60), ('dog', 180, 150, 290, 290)],
]


def write_annotation(objects):
    box = '<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>'
    return '<annotation>' + ''.join(box.format(*o) for o in objects) + '</annotation>'


def parse_annotation(text, size=300.):
    boxes, labels = [], []
    for object in ET.fromstring(text).iter('object'):
        bbox = object.find('bndbox')
        xmin = int(bbox.find('xmin').text) - 1
        xmax = int(bbox.find('xmax').text) - 1
        ymin = int(bbox.find('ymin').text) - 1
        ymax = int(bbox.find('ymax').text) - 1
        boxes.append([xmax, ymax, xmin, ymin])
        labels.append(label_map[object.find('name').text])
    return torch.tensor(boxes) / size, torch.tensor(labels)


def xy_to_cxcy(xy):
    return torch.cat([(xy[:, 2:] + xy[:, :2]) / 2, xy[:, 2:] - xy[:, :2]], 1)


def cxcy_to_xy(cxcy):
    return torch.cat([cxcy[:, :2] - (cxcy[:, 2:] / 2), cxcy[:, :2] + (cxcy[:, 2:] / 2)], 1)


def cxcy_to_gcxgcy(cxcy, priors_cxcy):
    return torch.cat([(cxcy[:, :2] - priors_cxcy[:, :2]) / (priors_cxcy[:, 2:] / 10),  # g_c_x, g_c_y
                      torch.log(cxcy[:, 2:] / priors_cxcy[:, 2:]) * 5], 1)  # g_w, g_h


def find_jaccard_overlap(set_1, set_2):
    lower = torch.max(set_1[:, :2].unsqueeze(1), set_2[:, :2].unsqueeze(0))
    upper = torch.min(set_1[:, 2:].unsqueeze(1), set_2[:, 2:].unsqueeze(0))
    dims = torch.clamp(upper - lower, min=0)
    intersection = dims[:, :, 0] * dims[:, :, 1]
    areas_1 = (set_1[:, 2] - set_1[:, 0]) * (set_1[:, 3] - set_1[:, 1])
    areas_2 = (set_2[:, 2] - set_2[:, 0]) * (set_2[:, 3] - set_2[:, 1])
    return intersection / (areas_1.unsqueeze(1) + areas_2.unsqueeze(0) - intersection)


class MultiBoxLoss(nn.Module):
    def __init__(self, priors_cxcy, threshold=0.5, neg_pos_ratio=3, alpha=1.):
        super(MultiBoxLoss, self).__init__()
        self.priors_cxcy, self.priors_xy = priors_cxcy, cxcy_to_xy(priors_cxcy)
        self.threshold, self.neg_pos_ratio, self.alpha = threshold, neg_pos_ratio, alpha
        self.smooth_l1 = nn.L1Loss()
        self.cross_entropy = nn.CrossEntropyLoss(reduction='none')

    def forward(self, predicted_locs, predicted_scores, boxes, labels):
        true_locs = torch.zeros_like(predicted_locs)
        true_classes = torch.zeros(predicted_scores.shape[:2], dtype=torch.long)
        for i in range(len(boxes)):
            overlap = find_jaccard_overlap(boxes[i], self.priors_xy)
            overlap_for_each_prior, object_for_each_prior = overlap.max(dim=0)
            _, prior_for_each_object = overlap.max(dim=1)
            object_for_each_prior[prior_for_each_object] = torch.arange(len(boxes[i]))
            overlap_for_each_prior[prior_for_each_object] = 1.
            label_for_each_prior = labels[i][object_for_each_prior]
            label_for_each_prior[overlap_for_each_prior < self.threshold] = 0
            true_classes[i] = label_for_each_prior
            true_locs[i] = cxcy_to_gcxgcy(xy_to_cxcy(boxes[i][object_for_each_prior]), self.priors_cxcy)
        positive_priors = true_classes != 0
        loc_loss = self.smooth_l1(predicted_locs[positive_priors], true_locs[positive_priors])
        n_positives = positive_priors.sum(dim=1)
        conf_all = self.cross_entropy(predicted_scores.flatten(0, 1), true_classes.view(-1)).view(true_classes.shape)
        conf_neg, _ = conf_all.masked_fill(positive_priors, 0.).sort(dim=1, descending=True)
        hard = torch.arange(conf_neg.size(1)) < self.neg_pos_ratio * n_positives.unsqueeze(1)
        conf_loss = (conf_neg[hard].sum() + conf_all[positive_priors].sum()) / n_positives.sum().float()
        return conf_loss + self.alpha * loc_loss


# %%
grid = (torch.arange(6) + 0.5) / 6
priors_cxcy = torch.tensor([[x, y, s, s] for y in grid.tolist() for x in grid.tolist() for s in (0.2, 0.5)])
model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(6), nn.Conv2d(16, 2 * 7, 3, 1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
criterion = MultiBoxLoss(priors_cxcy)
boxes, labels = zip(*[parse_annotation(write_annotation(a)) for a in ANNOTATIONS])
images = torch.rand(4, 3, 96, 96)

# %%
losses = []
for epoch in range(5):
    out = model(images).permute(0, 2, 3, 1).reshape(4, -1, 7)
    loss = criterion(out[..., :4], out[..., 4:], boxes, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
