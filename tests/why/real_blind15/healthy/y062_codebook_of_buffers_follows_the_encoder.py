# https://github.com/lucidrains/vector-quantize-pytorch/issues/20
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def ema_inplace(old, new, decay):
    old.mul_(decay).add_(new, alpha=1 - decay)


class EuclideanCodebook(nn.Module):
    def __init__(self, dim, codebook_size, decay=0.8, eps=1e-5):
        super().__init__()
        self.decay, self.eps, self.codebook_size = decay, eps, codebook_size
        embed = torch.randn(codebook_size, dim)
        self.register_buffer('embed', embed)
        self.register_buffer('embed_avg', embed.clone())
        self.register_buffer('cluster_size', torch.ones(codebook_size))

    @torch.no_grad()
    def forward(self, x):
        dist = -torch.cdist(x, self.embed)
        embed_ind = dist.argmax(dim=-1)
        quantize = F.embedding(embed_ind, self.embed)
        if self.training:
            onehot = F.one_hot(embed_ind, self.codebook_size).type(x.dtype)
            ema_inplace(self.cluster_size, onehot.sum(0), self.decay)
            ema_inplace(self.embed_avg, onehot.t() @ x, self.decay)
            n = self.cluster_size.sum()
            smoothed = (self.cluster_size + self.eps) / (n + self.codebook_size * self.eps) * n
            self.embed.copy_(self.embed_avg / smoothed.unsqueeze(1))
            self.expire_codes_(x)
        return quantize, embed_ind

    def expire_codes_(self, x, threshold=0.5):
        dead = self.cluster_size < threshold
        fresh = x[torch.randint(0, len(x), (int(dead.sum()),))]
        self.embed[dead], self.embed_avg[dead], self.cluster_size[dead] = fresh, fresh, 1.0


class VectorQuantize(nn.Module):
    def __init__(self, dim, codebook_size, commitment_weight=0.25):
        super().__init__()
        self._codebook = EuclideanCodebook(dim, codebook_size)
        self.commitment_weight = commitment_weight

    def forward(self, x):
        quantize, embed_ind = self._codebook(x)
        loss = F.mse_loss(quantize.detach(), x) * self.commitment_weight
        quantize = x + (quantize - x).detach()
        return quantize, embed_ind, loss


class AutoEncoder(nn.Module):
    def __init__(self, dim=4, codebook_size=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, dim))
        self.vq = VectorQuantize(dim, codebook_size)
        self.dec = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        quantize, indices, commit_loss = self.vq(self.enc(x))
        return self.dec(quantize), indices, commit_loss


prototypes = torch.randn(10, 8)


def draw(n):
    return prototypes[torch.randint(0, 10, (n,))] + 0.05 * torch.randn(n, 8)


# %%
model = AutoEncoder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
embed_before = model.vq._codebook.embed.clone()
history = []
for it in range(400):
    x = draw(128)
    out, indices, cmt_loss = model(x)
    rec_loss = F.mse_loss(out, x)
    opt.zero_grad()
    (rec_loss + cmt_loss).backward()
    opt.step()
    history.append(rec_loss.item())

# %%
model.eval()
with torch.no_grad():
    x = draw(500)
    out, indices, _ = model(x)
    error = F.mse_loss(out, x).item()
codebook = model.vq._codebook
print(history[0], history[-1], error, indices.unique().numel())
assert not any('codebook' in name for name, _ in model.named_parameters())
assert not codebook.embed.requires_grad and not torch.equal(codebook.embed, embed_before)
assert error < 0.05 and indices.unique().numel() >= 9
