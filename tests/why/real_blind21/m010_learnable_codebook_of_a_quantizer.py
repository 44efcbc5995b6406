# https://github.com/lucidrains/vector-quantize-pytorch/issues/47
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EuclideanCodebook(nn.Module):
    def __init__(self, dim, codebook_size, decay=0.8, eps=1e-5, learnable_codebook=False, ema_update=True):
        super().__init__()
        self.decay = decay
        self.codebook_size = codebook_size
        self.eps = eps
        self.ema_update = ema_update
        self.learnable_codebook = learnable_codebook
        embed = torch.randn(codebook_size, dim)

        self.register_buffer('cluster_size', torch.zeros(codebook_size))
        self.register_buffer('embed_avg', embed.clone())
        if learnable_codebook:
            self.embed = nn.Parameter(embed)
        else:
            self.register_buffer('embed', embed)

    def forward(self, x):
        shape = x.shape
        flatten = x.reshape(-1, shape[-1])
        embed = self.embed if not self.learnable_codebook else self.embed.detach()

        dist = -torch.cdist(flatten, embed, p=2)
        embed_ind = dist.argmax(dim=-1)
        embed_onehot = F.one_hot(embed_ind, self.codebook_size).type(x.dtype)
        quantize = F.embedding(embed_ind, self.embed)

        if self.training and self.ema_update:
            self.cluster_size.data.lerp_(embed_onehot.sum(dim=0), 1 - self.decay)
            self.embed_avg.data.lerp_(embed_onehot.t() @ flatten.detach(), 1 - self.decay)
            embed_normalized = self.embed_avg / (self.cluster_size + self.eps).unsqueeze(-1)
            self.embed.data.copy_(embed_normalized)

        return quantize.view(shape), embed_ind.view(shape[:-1])


class VectorQuantize(nn.Module):
    def __init__(self, dim, codebook_size, codebook_dim=None, commitment_weight=1., ema_update=True,
                 learnable_codebook=False):
        super().__init__()
        codebook_dim = codebook_dim or dim
        self.project_in = nn.Linear(dim, codebook_dim) if codebook_dim != dim else nn.Identity()
        self.project_out = nn.Linear(codebook_dim, dim) if codebook_dim != dim else nn.Identity()
        self.commitment_weight = commitment_weight
        self.learnable_codebook = learnable_codebook
        assert not (ema_update and learnable_codebook), 'learnable codebook not compatible with EMA update'
        self._codebook = EuclideanCodebook(dim=codebook_dim, codebook_size=codebook_size,
                                           learnable_codebook=learnable_codebook, ema_update=ema_update)

    def forward(self, x):
        x = self.project_in(x)
        quantize, embed_ind = self._codebook(x)

        if self.training:
            quantize = x + (quantize - x).detach()

        loss = torch.tensor([0.], device=x.device, requires_grad=self.training)
        if self.training and self.commitment_weight > 0:
            commit_quantize = quantize.detach() if not self.learnable_codebook else quantize
            commit_loss = F.mse_loss(commit_quantize, x)
            loss = loss + commit_loss * self.commitment_weight

        quantize = self.project_out(quantize)
        return quantize, embed_ind, loss


# %%
vq = VectorQuantize(dim=512,
                    codebook_size=32,
                    codebook_dim=512,
                    ema_update=False,
                    learnable_codebook=True,
                    )
x = torch.rand(7, 1, 512)

# %%
*_, loss = vq(x)
loss.backward()
print(loss, vq._codebook.embed.grad)
