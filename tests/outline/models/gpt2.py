# GPT-2 with 12 blocks: names, counts and the tied weight as in transformers' GPT2LMHeadModel
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(d, 3 * d)
        self.c_proj = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.c_attn(x).view(b, n, 3, self.heads, d // self.heads).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / (d // self.heads) ** 0.5
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        p = scores.masked_fill(later, float("-inf")).softmax(-1)
        y = torch.einsum("bhqk,bkhd->bqhd", p, v).reshape(b, n, d)
        return self.c_proj(y)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.c_fc = nn.Linear(d, 4 * d)
        self.c_proj = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, d, heads, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.ln_1 = nn.LayerNorm(d)
        self.attn = Attention(d, heads)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        a = self.attn(self.ln_1(x))
        x = x + a
        m = self.mlp(self.ln_2(x))
        return x + m


class Transformer(nn.Module):
    def __init__(self, v, n, d, layers, heads):
        super().__init__()
        self.wte = nn.Embedding(v, d)
        self.wpe = nn.Embedding(n, d)
        self.h = nn.ModuleList(Block(d, heads, i) for i in range(layers))
        self.ln_f = nn.LayerNorm(d)

    def forward(self, ids):
        where = torch.arange(ids.shape[1])
        x = self.wte(ids) + self.wpe(where)
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class GPT2(nn.Module):
    def __init__(self, v=256, n=32, d=48, layers=12, heads=4):
        super().__init__()
        self.transformer = Transformer(v, n, d, layers, heads)
        self.lm_head = nn.Linear(d, v, bias=False)
        self.lm_head.weight = self.transformer.wte.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        hidden = self.transformer(ids)
        return self.lm_head(hidden)


model = GPT2()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(256, (2, 16))
# %% the recorded cell
opt.zero_grad()
logits = model(ids)
loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
opt.step()
