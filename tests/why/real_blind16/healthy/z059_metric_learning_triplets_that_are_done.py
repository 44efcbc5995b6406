# https://github.com/KevinMusgrave/pytorch-metric-learning/issues/268
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ProxyAnchorLoss(nn.Module):
    def __init__(self, num_classes, embedding_size, margin=0.1, alpha=16):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(num_classes, embedding_size))
        self.margin, self.alpha = margin, alpha

    def forward(self, embeddings, labels):
        cos = embeddings @ F.normalize(self.proxies).t()
        pos = F.one_hot(labels, len(self.proxies)).bool()
        pos_exp = torch.exp(-self.alpha * (cos - self.margin)).masked_fill(~pos, 0)
        neg_exp = torch.exp(self.alpha * (cos + self.margin)).masked_fill(pos, 0)
        with_pos = pos.any(0)
        return torch.log1p(pos_exp.sum(0))[with_pos].mean() + torch.log1p(neg_exp.sum(0)).mean()


class TripletMarginMiner:
    def __init__(self, margin=0.1):
        self.margin, self.num_triplets = margin, 0

    @torch.no_grad()
    def __call__(self, embeddings, labels):
        dist = torch.cdist(embeddings, embeddings)
        same = labels[:, None] == labels[None]
        eye = torch.eye(len(labels), dtype=torch.bool)
        valid = (same & ~eye)[:, :, None] & (~same)[:, None, :]
        too_close = dist[:, None, :] - dist[:, :, None] <= self.margin
        triplets = (valid & too_close).nonzero(as_tuple=True)
        self.num_triplets = len(triplets[0])
        return triplets


def triplet_margin_loss(embeddings, triplets, margin=0.1):
    a, p, n = triplets
    if len(a) == 0:
        return embeddings.sum() * 0  # nothing to learn from this batch, but backward may be called
    ap = (embeddings[a] - embeddings[p]).norm(dim=1)
    an = (embeddings[a] - embeddings[n]).norm(dim=1)
    return F.relu(ap - an + margin).mean()


class Trunk(nn.Module):
    def __init__(self, d_in=10, embedding_size=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, embedding_size))

    def forward(self, x):
        return F.normalize(self.layers(x))


kinds = 1.5 * torch.randn(6, 10)


def load(n):
    labels = torch.randint(0, 6, (n,))
    return kinds[labels] + 0.5 * torch.randn(n, 10), labels


def precision_at_1(model):
    with torch.no_grad():
        x, labels = load(400)
        sim = model(x) @ model(x).t()
        sim.fill_diagonal_(-2)
        return (labels[sim.argmax(1)] == labels).float().mean().item()


# %%
model, proxy_loss = Trunk(), ProxyAnchorLoss(6, 8)
optimizer = torch.optim.Adam([{'params': model.parameters()}, {'params': proxy_loss.parameters(), 'lr': 5e-2}], lr=3e-3)
for step in range(250):
    x, labels = load(64)
    loss = proxy_loss(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
after_proxies = precision_at_1(model)

# %%
miner = TripletMarginMiner()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
losses, mined = [], []
for step in range(100):
    x, labels = load(32)
    embeddings = model(x)
    loss = triplet_margin_loss(embeddings, miner(embeddings, labels))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    mined.append(miner.num_triplets)

# %%
after_triplets = precision_at_1(model)
print(after_proxies, after_triplets, sum(l == 0 for l in losses), max(mined))
assert sum(l == 0 for l in losses) > 50
assert all((l == 0) == (m == 0) for l, m in zip(losses, mined))
assert after_proxies > 0.95 and after_triplets > 0.95
