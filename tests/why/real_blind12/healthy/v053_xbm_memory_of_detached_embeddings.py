# https://github.com/bnu-wangxun/Deep_Metric/issues/45
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.5):
        super().__init__()
        self.margin = margin

    def forward(self, inputs_col, targets_col, inputs_row, targets_row):
        n = inputs_col.size(0)
        sim_mat = torch.matmul(inputs_col, inputs_row.t())
        same = targets_col[:, None] == targets_row[None, :]
        pos_pair_ = sim_mat[same & (sim_mat < 1 - 1e-5)]
        neg_pair_ = sim_mat[~same & (sim_mat > self.margin)]
        pos_loss = torch.sum(-pos_pair_ + 1)
        neg_loss = torch.sum(neg_pair_) if len(neg_pair_) > 0 else 0
        return (pos_loss + neg_loss) / n


class XBM:
    def __init__(self, size, dim):
        self.K = size
        self.feats = torch.zeros(self.K, dim)
        self.targets = torch.zeros(self.K, dtype=torch.long)
        self.ptr = 0

    @property
    def is_full(self):
        return self.targets[-1].item() != 0

    def get(self):
        if self.is_full:
            return self.feats, self.targets
        return self.feats[:self.ptr], self.targets[:self.ptr]

    def enqueue_dequeue(self, feats, targets):
        q_size = len(targets)
        if self.ptr + q_size > self.K:
            self.feats[-q_size:] = feats
            self.targets[-q_size:] = targets
            self.ptr = 0
        else:
            self.feats[self.ptr: self.ptr + q_size] = feats
            self.targets[self.ptr: self.ptr + q_size] = targets
            self.ptr += q_size


# %%
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = ContrastiveLoss()
xbm = XBM(size=256, dim=8)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=5e-4)
centers = torch.randn(10, 12)

# %%
losses = []
for iteration in range(80):
    targets = torch.randint(1, 11, (32,))
    images = centers[targets - 1] + 0.4 * torch.randn(32, 12)
    feats = F.normalize(model(images), dim=1)
    if iteration >= 5:
        xbm.enqueue_dequeue(feats.detach(), targets.detach())
    loss = criterion(feats, targets, feats, targets)
    if iteration >= 10:
        xbm_feats, xbm_targets = xbm.get()
        xbm_loss = criterion(feats, targets, xbm_feats, xbm_targets)
        loss = loss + 1.0 * xbm_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[10], losses[-1])
assert losses[-1] < losses[10]
assert xbm_loss.requires_grad and not xbm_feats.requires_grad
