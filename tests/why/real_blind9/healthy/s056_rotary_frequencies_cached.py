# https://github.com/lucidrains/rotary-embedding-torch/blob/main/rotary_embedding_torch/rotary_embedding_torch.py
import torch
from torch import nn

torch.manual_seed(0)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, learned_freq=False, cache_max_seq_len=64):
        super().__init__()
        self.learned_freq = learned_freq
        self.freqs = nn.Parameter(10000 ** -(torch.arange(0, dim, 2) / dim), requires_grad=learned_freq)
        self.register_buffer('cached_freqs', torch.zeros(cache_max_seq_len, dim), persistent=False)
        self.cached_freqs_seq_len = 0

    def forward(self, t, seq_len):
        if not self.learned_freq and seq_len <= self.cached_freqs_seq_len:
            return self.cached_freqs[:seq_len].detach()
        freqs = torch.outer(t.type(self.freqs.dtype), self.freqs).repeat_interleave(2, dim=-1)
        if not self.learned_freq:
            self.cached_freqs[:seq_len] = freqs.detach()
            self.cached_freqs_seq_len = seq_len
        return freqs

    def rotate_queries_or_keys(self, t):
        freqs = self(torch.arange(t.shape[-2]), seq_len=t.shape[-2])
        half_turned = torch.stack([-t[..., 1::2], t[..., ::2]], dim=-1).flatten(-2)
        return t * freqs.cos() + half_turned * freqs.sin()


# %%
rotary = RotaryEmbedding(dim=8)
to_q, to_k, to_v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
layers = nn.ModuleList([rotary, to_q, to_k, to_v])
optimizer = torch.optim.Adam([p for p in layers.parameters() if p.requires_grad], lr=1e-3)

# %%
for _ in range(3):
    x = torch.randn(4, 10, 8)
    q, k = rotary.rotate_queries_or_keys(to_q(x)), rotary.rotate_queries_or_keys(to_k(x))
    attention = (q @ k.transpose(1, 2) / 8 ** 0.5).softmax(-1)
    loss = (attention @ to_v(x) - x.roll(1, 1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
