# https://github.com/HazyResearch/hgcn/issues/25
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

MIN_NORM = 1e-15


class Artanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clamp(-1 + 1e-15, 1 - 1e-15)
        ctx.save_for_backward(x)
        return (torch.log_(1 + x).sub_(torch.log_(1 - x))).mul_(0.5)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output / (1 - input ** 2)


class PoincareBall:
    def proj(self, x, c):
        norm = torch.clamp_min(x.norm(dim=-1, keepdim=True, p=2), MIN_NORM)
        maxnorm = (1 - 1e-5) / (c ** 0.5)
        return torch.where(norm > maxnorm, x / norm * maxnorm, x)

    def expmap0(self, u, c):
        u_norm = torch.clamp_min(u.norm(dim=-1, p=2, keepdim=True), MIN_NORM)
        return torch.tanh(c ** 0.5 * u_norm) * u / (c ** 0.5 * u_norm)

    def logmap0(self, p, c):
        p_norm = p.norm(dim=-1, p=2, keepdim=True).clamp_min(MIN_NORM)
        return Artanh.apply(c ** 0.5 * p_norm) / p_norm * p / c ** 0.5

    def mobius_add(self, x, y, c):
        x2, y2 = x.pow(2).sum(-1, keepdim=True), y.pow(2).sum(-1, keepdim=True)
        xy = (x * y).sum(-1, keepdim=True)
        num = (1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y
        return num / (1 + 2 * c * xy + c ** 2 * x2 * y2).clamp_min(MIN_NORM)

    def sqdist(self, p1, p2, c):
        return (2 / c ** 0.5 * Artanh.apply(c ** 0.5 * self.mobius_add(-p1, p2, c).norm(dim=-1, p=2))) ** 2


class HyperbolicGraphConvolution(nn.Module):
    def __init__(self, manifold, in_features, out_features, c_in, c_out):
        super().__init__()
        self.manifold, self.c_in, self.c_out = manifold, c_in, c_out
        self.weight = nn.Parameter(torch.empty(out_features, in_features, dtype=torch.double))
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=torch.double))
        nn.init.xavier_uniform_(self.weight, gain=2 ** 0.5)

    def forward(self, x, adj):
        h = self.manifold.expmap0(self.manifold.logmap0(x, self.c_in) @ self.weight.t(), self.c_in)
        hyp_bias = self.manifold.proj(self.manifold.expmap0(self.bias[None], self.c_in), self.c_in)
        h = self.manifold.proj(self.manifold.mobius_add(h, hyp_bias, self.c_in), self.c_in)
        xt = torch.relu(adj @ self.manifold.logmap0(h, self.c_in))
        return self.manifold.proj(self.manifold.expmap0(xt, self.c_out), self.c_out)


class LPModel(nn.Module):
    def __init__(self, n_feat, dim=16, r=2.0, t=1.0):
        super().__init__()
        self.manifold, self.r, self.t = PoincareBall(), r, t
        self.c = nn.Parameter(torch.ones(1, dtype=torch.double))
        self.layers = nn.ModuleList([
            HyperbolicGraphConvolution(self.manifold, n_feat, dim, self.c, self.c),
            HyperbolicGraphConvolution(self.manifold, dim, dim, self.c, self.c)])

    def encode(self, x, adj):
        x = self.manifold.proj(self.manifold.expmap0(x, self.c), self.c)
        for layer in self.layers:
            x = layer(x, adj)
        return x

    def decode(self, h, idx):
        dist = self.manifold.sqdist(h[idx[:, 0]], h[idx[:, 1]], self.c)
        return 1.0 / (torch.exp((dist - self.r) / self.t) + 1.0)


# %%
parents = (torch.arange(1, 63) - 1) // 2
edges = torch.stack([torch.arange(1, 63), parents], dim=1)[torch.randperm(62)]
val_edges, train_edges = edges[:6], edges[6:]
adj = torch.eye(63, dtype=torch.double)
adj[train_edges[:, 0], train_edges[:, 1]] = adj[train_edges[:, 1], train_edges[:, 0]] = 1.0
train_edges_false = ((adj == 0).triu(1)).nonzero()
known = {tuple(sorted(e)) for e in val_edges.tolist()}
adj_norm = adj / adj.sum(1, keepdim=True)
features = torch.randn(63, 12, dtype=torch.double) * 0.3

# %%
model = LPModel(12)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for epoch in range(150):
    optimizer.zero_grad()
    embeddings = model.encode(features, adj_norm)
    edges_false = train_edges_false[torch.randint(0, len(train_edges_false), (len(train_edges),))]
    pos_scores, neg_scores = model.decode(embeddings, train_edges), model.decode(embeddings, edges_false)
    loss = F.binary_cross_entropy(pos_scores, torch.ones_like(pos_scores))
    loss += F.binary_cross_entropy(neg_scores, torch.zeros_like(neg_scores))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
wrongly_false = sum(tuple(e) in known for e in train_edges_false.tolist())
print(losses[0], losses[-1], wrongly_false, model.c.item())
