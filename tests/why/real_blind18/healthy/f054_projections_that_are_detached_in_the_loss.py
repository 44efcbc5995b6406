# https://github.com/lightly-ai/lightly/issues/559
import torch
import torch.nn as nn

torch.manual_seed(0)


def _projection_mlp(in_dims, h_dims, out_dims, num_layers=2):
    l1 = nn.Sequential(nn.Linear(in_dims, h_dims), nn.BatchNorm1d(h_dims), nn.ReLU(inplace=True))
    l2 = nn.Sequential(nn.Linear(h_dims, out_dims), nn.BatchNorm1d(out_dims))
    return nn.Sequential(l1, l2)


def _prediction_mlp(in_dims, h_dims, out_dims):
    l1 = nn.Sequential(nn.Linear(in_dims, h_dims), nn.BatchNorm1d(h_dims), nn.ReLU(inplace=True))
    return nn.Sequential(l1, nn.Linear(h_dims, out_dims))


class SimSiam(nn.Module):
    def __init__(self, backbone, num_ftrs=32, proj_hidden_dim=32, pred_hidden_dim=8, out_dim=32):
        super(SimSiam, self).__init__()
        self.backbone = backbone
        self.projection_mlp = _projection_mlp(num_ftrs, proj_hidden_dim, out_dim)
        self.prediction_mlp = _prediction_mlp(out_dim, pred_hidden_dim, out_dim)

    def forward(self, x0, x1=None, return_features=False):
        f0 = self.backbone(x0).flatten(start_dim=1)
        z0 = self.projection_mlp(f0)
        p0 = self.prediction_mlp(z0)
        out0 = (z0, p0)
        if return_features:
            out0 = (out0, f0)
        if x1 is None:
            return out0
        f1 = self.backbone(x1).flatten(start_dim=1)
        z1 = self.projection_mlp(f1)
        p1 = self.prediction_mlp(z1)
        out1 = (z1, p1)
        if return_features:
            out1 = (out1, f1)
        return out0, out1


class SymNegCosineSimilarityLoss(nn.Module):
    def _neg_cosine_simililarity(self, x, y):
        v = -nn.functional.cosine_similarity(x, y.detach(), dim=-1).mean()
        return v

    def forward(self, out0, out1):
        z0, p0 = out0
        z1, p1 = out1
        loss = self._neg_cosine_simililarity(p0, z1) / 2 + self._neg_cosine_simililarity(p1, z0) / 2
        return loss


PROTOTYPES = torch.randn(6, 20)


def augmented(y):
    x = PROTOTYPES[y]
    return x * (0.7 + 0.6 * torch.rand(len(y), 1)) + 0.5 * torch.randn(len(y), 20)


# %%
backbone = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU())
model = SimSiam(backbone)
criterion = SymNegCosineSimilarityLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)

# %%
losses = []
for epoch in range(120):
    y = torch.randint(0, 6, (128,))
    out0, out1 = model(augmented(y), augmented(y))
    loss = criterion(out0, out1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
(z0, p0), (z1, p1) = model(augmented(y), augmented(y))
through_targets = torch.autograd.grad(criterion((z0, p0), (z1, p1)), [z0, z1], retain_graph=True, allow_unused=True)
by_predictions = torch.autograd.grad(
    -torch.cosine_similarity(p0, z1.data, dim=-1).mean() / 2 - torch.cosine_similarity(p1, z0.data, dim=-1).mean() / 2, [z0, z1])
same = all(torch.allclose(a, b) for a, b in zip(through_targets, by_predictions))
model.eval()
with torch.no_grad():
    ya, yb = torch.randint(0, 6, (300,)), torch.randint(0, 6, (300,))
    fa, fb = (torch.nn.functional.normalize(model(augmented(k), return_features=True)[1], dim=1) for k in (ya, yb))
    knn = (ya[(fb @ fa.t()).argmax(1)] == yb).float().mean().item()
    spread = torch.nn.functional.normalize(model(augmented(ya))[0], dim=1).std(0).mean().item()
print(losses[0], losses[-1], same, knn, spread)
assert same and knn > 0.8 and spread > 0.5 / 32 ** 0.5
assert losses[-1] < -0.6
