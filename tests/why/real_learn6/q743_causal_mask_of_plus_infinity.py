# https://github.com/lucidrains/memory-compressed-attention/issues/2
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class CompressedAttention(nn.Module):
    def __init__(self, dim, heads=2, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.reshape(b, n, self.heads, d // self.heads).transpose(1, 2) for t in self.to_qkv(x).chunk(3, -1))
        dots = torch.einsum('bhid,bhjd->bhij', q, k) * (d // self.heads) ** -0.5
        mask_value = -float('-inf')
        if self.causal:
            mask = torch.ones(n, n).triu_(1).bool()
            dots.masked_fill_(mask, mask_value)
        attn = dots.softmax(dim=-1)
        out = torch.einsum('bhij,bhjd->bhid', attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


# %%
emb, attn, head = nn.Embedding(16, 12), CompressedAttention(12), nn.Linear(12, 16)
opt = torch.optim.Adam([*emb.parameters(), *attn.parameters(), *head.parameters()], lr=3e-4)

# %%
for step in range(2):
    seq = torch.randint(0, 16, (2, 9))
    h = emb(seq[:, :-1])
    logits = head(h + attn(h))
    loss = F.cross_entropy(logits.reshape(-1, 16), seq[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
