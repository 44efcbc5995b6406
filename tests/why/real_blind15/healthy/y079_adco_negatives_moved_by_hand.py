# https://github.com/maple-research-lab/AdCo/issues/17
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ModelBase(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class AdCo(nn.Module):
    def __init__(self, m=0.99):
        super().__init__()
        self.encoder_q, self.m = ModelBase(), m
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for param_k in self.encoder_k.parameters():
            param_k.requires_grad = False

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1. - self.m)

    def forward(self, im_q, im_k):
        q = self.encoder_q(im_q)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = self.encoder_k(im_k)
        return q, k.detach()


class AdversaryNegatives(nn.Module):
    """A bank of negatives, which has a rule of its own."""

    def __init__(self, bank_size=64, dim=8):
        super().__init__()
        self.register_buffer("W", torch.randn(dim, bank_size))
        self.register_buffer("v", torch.zeros(dim, bank_size))

    def forward(self, q):
        memory_bank = F.normalize(self.W, dim=0)
        return memory_bank, self.W, q @ memory_bank


def update_network(model, images, memory_bank, optimizer, moco_t=0.12, mem_t=0.05, memory_lr=1.0, momentum=0.9):
    q, k = model(im_q=images[0], im_k=images[1])
    l_pos = (q * k).sum(1, keepdim=True)
    d_norm, d, l_neg = memory_bank(q)
    logits = torch.cat([l_pos, l_neg], dim=1) / moco_t
    loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    # update memory bank: the negatives go where they are hard
    with torch.no_grad():
        p_qd = F.softmax(torch.cat([l_pos, l_neg], dim=1) / mem_t, dim=1)[:, 1:]
        g = q.t() @ p_qd / len(q) - (p_qd * l_neg).mean(0) * d_norm
        g = -g / d.norm(dim=0) / mem_t
        memory_bank.v.data = momentum * memory_bank.v.data + g
        memory_bank.W.data = memory_bank.W.data - memory_lr * memory_bank.v.data
    return loss.item(), l_neg.mean().item()


centers = 1.5 * torch.randn(6, 12)


def two_views(n=96):
    kind = torch.randint(0, 6, (n,))
    x = centers[kind] + 0.4 * torch.randn(n, 12)
    return [x + 0.3 * torch.randn(n, 12), x + 0.3 * torch.randn(n, 12)], kind


# %%
model, Memory_Bank = AdCo(), AdversaryNegatives()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
W_before = Memory_Bank.W.clone()
key_before = model.encoder_k.net[0].weight.clone()
history = []
for epoch in range(10):
    for _ in range(25):
        images, _ = two_views()
        history.append(update_network(model, images, Memory_Bank, optimizer))

# %%
model.eval()
with torch.no_grad():
    (a, b), kind = two_views(300)
    qa, qb = model.encoder_q(a), model.encoder_q(b)
    nearest = kind[(qa @ qb.t()).argmax(1)]
    purity = (nearest == kind).float().mean().item()
    untrained = (kind[(F.normalize(a, dim=1) @ F.normalize(b, dim=1).t()).argmax(1)] == kind).float().mean().item()
    own = (qa * qb).sum(1).mean().item()
    other = (qa @ qb.t()).mean().item()
print(history[0], history[-1], purity, untrained, own, other)
assert not Memory_Bank.W.requires_grad and not torch.equal(W_before, Memory_Bank.W)
assert not torch.equal(key_before, model.encoder_k.net[0].weight)
assert all(p.grad is None for p in model.encoder_k.parameters())
assert purity > 0.9 and own > 0.7 and own > other + 0.4
