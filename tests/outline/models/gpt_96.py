# A GPT of 96 blocks
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, v=32, d=16, n=96):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Embedding(8, d)
        self.h = nn.ModuleList(Block(d) for _ in range(n))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, v, bias=False)

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.full((n, n), float("-inf")).triu(1)
        x = self.tok(ids) + self.pos(torch.arange(n))
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


model = GPT()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ids = torch.randint(32, (2, 8))
# %% the recorded cell
opt.zero_grad()
logits = model(ids)
loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
opt.step()
