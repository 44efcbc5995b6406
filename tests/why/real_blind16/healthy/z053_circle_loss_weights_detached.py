# https://github.com/TinyZeaMays/CircleLoss/issues/31
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def convert_label_to_similarity(normed_feature, label):
    similarity = normed_feature @ normed_feature.t()
    same = label.unsqueeze(1) == label.unsqueeze(0)
    positive = same.triu(diagonal=1)
    negative = same.logical_not().triu(diagonal=1)
    return similarity[positive], similarity[negative]


class CircleLoss(nn.Module):
    def __init__(self, m, gamma):
        super().__init__()
        self.m, self.gamma = m, gamma

    def logits(self, sp, sn):
        # how far each pair is from its optimum is a pace, not something to be learnt
        ap = torch.clamp_min(-sp.detach() + 1 + self.m, min=0.0)
        an = torch.clamp_min(sn.detach() + self.m, min=0.0)
        delta_p, delta_n = 1 - self.m, self.m
        logit_p = -ap * (sp - delta_p) * self.gamma
        logit_n = an * (sn - delta_n) * self.gamma
        return ap, an, logit_p, logit_n

    def forward(self, sp, sn):
        _, _, logit_p, logit_n = self.logits(sp, sn)
        return F.softplus(torch.logsumexp(logit_n, dim=0) + torch.logsumexp(logit_p, dim=0))


class Embedder(nn.Module):
    def __init__(self, d_in=10, d_out=8):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, d_out))

    def forward(self, x):
        return F.normalize(self.feature(x))


prototypes = torch.randn(12, 10)


def batch(n):
    label = torch.randint(0, 12, (n,))
    sign = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    # a class is a line through the origin, so that the raw dots say little
    return sign * prototypes[label] + 0.25 * torch.randn(n, 10), label


def retrieval(model, n=400):
    with torch.no_grad():
        x, label = batch(n)
        similarity = model(x) @ model(x).t()
        similarity.fill_diagonal_(-2)
        return (label[similarity.argmax(1)] == label).float().mean().item()


# %%
model, criterion = Embedder(), CircleLoss(m=0.25, gamma=32)
x, label = batch(64)
sp, sn = convert_label_to_similarity(model(x), label)
loss = criterion(sp, sn)
by_autograd = torch.autograd.grad(loss, [sp, sn], retain_graph=True)
with torch.no_grad():
    ap, an, logit_p, logit_n = criterion.logits(sp, sn)
    z = 1 - torch.exp(-loss)
    by_paper = (-z * ap * torch.softmax(logit_p, 0) * 32, z * an * torch.softmax(logit_n, 0) * 32)

# %%
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
losses, before = [], retrieval(model)
for step in range(300):
    x, label = batch(96)
    loss = criterion(*convert_label_to_similarity(model(x), label))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
after = retrieval(model)
print(losses[0], losses[-1], before, after)
assert all(torch.allclose(a, b, atol=1e-5, rtol=1e-3) for a, b in zip(by_autograd, by_paper))
assert losses[-1] < 0.7 * losses[0]
assert after > 0.9
