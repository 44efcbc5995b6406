# https://github.com/lucidrains/audiolm-pytorch/pull/265
import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, dim=8, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([
                nn.MultiheadAttention(dim, 2, batch_first=True),
                nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()),
            ]))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        new_kv_cache = []
        for attn, ff in self.layers:
            residual = x
            attn_out, layer_kv_cache = attn(x, x, x)
            new_kv_cache.append(layer_kv_cache)
            x = x + residual
            x = ff(x) + x
        return self.norm(x)


# %%
transformer = Transformer()
out = transformer(torch.randn(2, 5, 8))
out[:, -1].pow(3).mean().backward()

# %%
for name, p in transformer.named_parameters():
    print(name, p.grad is None)
