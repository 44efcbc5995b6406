# https://github.com/facebookresearch/encodec/issues/25
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantization(nn.Module):
    def __init__(self, dim, codebook_size, commitment_weight=1.0):
        super().__init__()
        self.register_buffer("embed", torch.randn(codebook_size, dim))
        self.commitment_weight = commitment_weight

    def forward(self, x):
        embed_ind = torch.cdist(x, self.embed).argmin(-1)
        quantize = F.embedding(embed_ind, self.embed)
        quantize = x + (quantize - x).detach()
        commit_loss = F.mse_loss(quantize.detach(), x) * self.commitment_weight
        return quantize, embed_ind, commit_loss


class ResidualVectorQuantization(nn.Module):
    def __init__(self, *, num_quantizers, **kwargs):
        super().__init__()
        self.layers = nn.ModuleList([VectorQuantization(**kwargs) for _ in range(num_quantizers)])

    def forward(self, x):
        quantized_out = 0.0
        residual = x
        all_losses = []
        for layer in self.layers:
            quantized, indices, loss = layer(residual)
            residual = residual - quantized
            quantized_out = quantized_out + quantized
            all_losses.append(loss)
        return quantized_out, torch.stack(all_losses)


# %%
encoder = nn.Linear(10, 6)
rvq = ResidualVectorQuantization(num_quantizers=3, dim=6, codebook_size=8)

# %%
quantized, commit_losses = rvq(encoder(torch.randn(32, 10)))
second = torch.autograd.grad(commit_losses[1], encoder.weight, retain_graph=True)[0]
print(second.abs().max())
commit_losses[1].backward()
print(encoder.weight.grad)
