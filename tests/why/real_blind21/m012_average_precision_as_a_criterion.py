# https://github.com/Lightning-AI/torchmetrics/issues/388
import torch
import torch.nn as nn

torch.manual_seed(0)


def _binary_clf_curve(preds, target, pos_label=1):
    desc_score_indices = torch.argsort(preds, descending=True)
    preds = preds[desc_score_indices]
    target = target[desc_score_indices]

    # distinct values of the predictions are where the curve has its points
    distinct_value_indices = torch.where(preds[1:] - preds[:-1])[0]
    threshold_idxs = nn.functional.pad(distinct_value_indices, (0, 1), value=target.size(0) - 1)
    target = (target == pos_label).to(torch.long)
    tps = torch.cumsum(target, dim=0)[threshold_idxs]
    fps = 1 + threshold_idxs - tps
    return fps, tps, preds[threshold_idxs]


def _precision_recall_curve(preds, target):
    fps, tps, thresholds = _binary_clf_curve(preds, target)
    precision = tps / (tps + fps)
    recall = tps / tps[-1]
    last_ind = torch.where(tps == tps[-1])[0][0]
    sl = slice(0, last_ind.item() + 1)
    precision = torch.cat([precision[sl].flip(0), torch.ones(1)])
    recall = torch.cat([recall[sl].flip(0), torch.zeros(1)])
    return precision, recall, thresholds[sl].flip(0)


class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self.preds, self.target = [], []

    def forward(self, preds, target):
        self.update(preds, target)
        return self.compute_batch(preds, target)

    def update(self, preds, target):
        self.preds.append(preds.detach())
        self.target.append(target)

    def compute(self):
        return self.compute_batch(torch.cat(self.preds), torch.cat(self.target))


class AveragePrecision(Metric):
    def compute_batch(self, preds, target):
        precision, recall, _ = _precision_recall_curve(preds, target)
        return -torch.sum((recall[1:] - recall[:-1]) * precision[:-1])


class MeanSquaredError(Metric):
    def compute_batch(self, preds, target):
        return (preds - target).pow(2).mean()


# %%
x = torch.tensor([0.1, 0.6, 0.3], requires_grad=True)
y = torch.tensor([0, 1, 1])

# %%
loss = MeanSquaredError()(x, y)
loss.backward()  # work as expected
print(loss, x.grad)

# %%
loss = AveragePrecision()(x, y)
print(loss)
loss.backward()
