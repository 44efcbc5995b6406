# https://github.com/lucidrains/vector-quantize-pytorch/issues/40
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def laplace_smoothing(x, n_categories, eps=1e-5):
    denom = x.sum(dim=-1, keepdim=True)
    return (x + eps) / (denom + n_categories * eps)


class EuclideanCodebook(nn.Module):
    def __init__(self, dim, codebook_size, decay=0.8, eps=1e-5):
        super().__init__()
        self.decay, self.codebook_size, self.eps = decay, codebook_size, eps
        embed = torch.randn(codebook_size, dim) * 0.1
        self.register_buffer('cluster_size', torch.zeros(codebook_size))
        self.register_buffer('embed', embed)
        self.register_buffer('embed_avg', embed.clone())

    def forward(self, x):
        flatten = x.reshape(-1, x.shape[-1])
        dist = -torch.cdist(flatten, self.embed, p=2)
        embed_ind = dist.argmax(dim=-1)
        embed_onehot = F.one_hot(embed_ind, self.codebook_size).type(x.dtype)
        quantize = F.embedding(embed_ind, self.embed)

        if self.training:
            self.cluster_size.data.lerp_(embed_onehot.sum(dim=0), 1 - self.decay)
            self.embed_avg.data.lerp_((embed_onehot.t() @ flatten).detach(), 1 - self.decay)
            cluster_size = laplace_smoothing(self.cluster_size, self.codebook_size, self.eps) * self.cluster_size.sum()
            self.embed.data.copy_(self.embed_avg / cluster_size.unsqueeze(-1))
        return quantize.view_as(x), embed_ind.view(x.shape[:-1])


class VectorQuantize(nn.Module):
    def __init__(self, dim, codebook_size, decay=0.8, commitment_weight=1.):
        super().__init__()
        self.commitment_weight = commitment_weight
        self._codebook = EuclideanCodebook(dim, codebook_size, decay=decay)

    def forward(self, x):
        quantize, embed_ind = self._codebook(x)
        if self.training:
            quantize = x + (quantize - x).detach()
        loss = torch.tensor([0.], device=x.device, requires_grad=self.training)
        if self.training and self.commitment_weight > 0:
            commit_loss = F.mse_loss(quantize.detach(), x)
            loss = loss + commit_loss * self.commitment_weight
        return quantize, embed_ind, loss


class SimpleVQAutoEncoder(nn.Module):
    def __init__(self, **vq_kwargs):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 6),
            VectorQuantize(dim=6, **vq_kwargs),
            nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 12),
        ])

    def forward(self, x):
        for layer in self.layers:
            if isinstance(layer, VectorQuantize):
                x, indices, commit_loss = layer(x)
            else:
                x = layer(x)
        return x, indices, commit_loss


# %%
kinds = torch.randn(6, 12)
model = SimpleVQAutoEncoder(codebook_size=16, decay=0.8)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
codes = model.layers[3]._codebook.embed.clone()

# %%
rec_losses = []
for step in range(300):
    opt.zero_grad()
    x = kinds[torch.randint(0, 6, (128,))] + 0.05 * torch.randn(128, 12)
    out, indices, cmt_loss = model(x)
    rec_loss = (out - x).abs().mean()
    (rec_loss + 0.5 * cmt_loss).backward()
    opt.step()
    rec_losses.append(rec_loss.item())

# %%
moved = (model.layers[3]._codebook.embed - codes).abs().max().item()
print(rec_losses[0], rec_losses[-1], moved, indices.unique().numel(), len(list(model.layers[3].parameters())))
assert rec_losses[-1] < 0.7 * rec_losses[0] and moved > 0.1
