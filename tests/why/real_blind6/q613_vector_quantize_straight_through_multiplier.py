# https://github.com/lucidrains/vector-quantize-pytorch/issues/59
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def gumbel_sample(logits, temperature=1.0, straight_through=True):
    noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(min=1e-9)) + 1e-9)
    ind = (logits / temperature + noise).argmax(dim=-1)
    one_hot = F.one_hot(ind, logits.shape[-1]).type(logits.dtype)
    if straight_through:
        soft = (logits / temperature).softmax(dim=-1)
        one_hot = one_hot + soft - soft.detach()
    return ind, one_hot


class GumbelQuantizer(nn.Module):
    def __init__(self, dim=8, codebook_size=16):
        super().__init__()
        self.to_logits = nn.Linear(dim, codebook_size)
        self.codebook = nn.Parameter(torch.randn(codebook_size, dim))

    def forward(self, x):
        logits = self.to_logits(x)
        ind, one_hot = gumbel_sample(logits)
        st_mult = one_hot.gather(-1, ind.unsqueeze(-1))  # multiplier for straight-through
        emb = self.codebook[ind] * st_mult
        return emb, ind, logits


# %%
encoder, quantizer, decoder = nn.Linear(10, 8), GumbelQuantizer(), nn.Linear(8, 10)
x = torch.randn(4, 5, 10)

# %%
emb, ind, logits = quantizer(encoder(x))
emb.retain_grad()
logits.retain_grad()
recon = decoder(emb)
loss = F.mse_loss(recon, x)
loss.backward()
onehot, emb_grad = F.one_hot(ind, 16).float(), emb.grad
print(loss.item(), logits.grad.abs().mean())
