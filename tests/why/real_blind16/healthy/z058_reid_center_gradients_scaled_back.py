# https://github.com/michuanhaohao/reid-strong-baseline/issues/43
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, x, labels):
        return (x - self.centers[labels]).pow(2).sum(1).clamp(min=1e-12, max=1e12).mean()


class Baseline(nn.Module):
    def __init__(self, d_in=12, feat_dim=6, num_classes=8):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, feat_dim))
        self.bottleneck = nn.BatchNorm1d(feat_dim)
        self.bottleneck.bias.requires_grad_(False)  # no shift
        self.classifier = nn.Linear(feat_dim, num_classes, bias=False)

    def forward(self, x):
        global_feat = self.base(x)
        feat = self.bottleneck(global_feat)
        if self.training:
            return self.classifier(feat), global_feat
        return feat


people = torch.randn(8, 12)


def load(n):
    pids = torch.randint(0, 8, (n,))
    return people[pids] + 0.4 * torch.randn(n, 12), pids


# %%
center_loss_weight = 0.0005
model, center_criterion = Baseline(), CenterLoss(8, 6)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3.5e-3, weight_decay=5e-4)
optimizer_center = torch.optim.SGD(center_criterion.parameters(), lr=0.5)
history, errors = [], []

# %%
model.train()
for iteration in range(300):
    img, target = load(64)
    optimizer.zero_grad()
    optimizer_center.zero_grad()
    score, feat = model(img)
    xent, center = F.cross_entropy(score, target), center_criterion(feat, target)
    loss = xent + center_loss_weight * center
    by_itself, = torch.autograd.grad(center, center_criterion.centers, retain_graph=True)
    loss.backward()
    for param in center_criterion.parameters():
        param.grad.data *= 1.0 / center_loss_weight
    errors.append((center_criterion.centers.grad - by_itself).abs().max().item())
    optimizer.step()
    optimizer_center.step()
    history.append((xent.item(), center.item()))

# %%
model.eval()
with torch.no_grad():
    (query, q_pids), (gallery, g_pids) = load(200), load(200)
    q, g = F.normalize(model(query)), F.normalize(model(gallery))
    rank1 = (g_pids[(q @ g.t()).argmax(1)] == q_pids).float().mean().item()
    x, pids = load(2000)
    means = torch.stack([model.base(x[pids == k]).mean(dim=0) for k in range(8)])
off = (center_criterion.centers.detach() - means).norm(dim=1).mean().item()
spread = means.std(0).norm().item()
print(history[0], history[-1], rank1, off, spread, max(errors))
assert max(errors) < 1e-4
assert off < 0.35 * spread
assert rank1 > 0.9 and history[-1][0] < 0.3 * history[0][0]
