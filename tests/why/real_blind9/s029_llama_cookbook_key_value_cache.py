# https://github.com/meta-llama/llama-cookbook/issues/247
import math

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, max_batch_size, max_seq_len):
        super().__init__()
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.cache_k = torch.zeros(max_batch_size, max_seq_len, dim)
        self.cache_v = torch.zeros(max_batch_size, max_seq_len, dim)

    def forward(self, x, start_pos, mask):
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        self.cache_k = self.cache_k.to(xq)
        self.cache_v = self.cache_v.to(xq)
        self.cache_k[:bsz, start_pos : start_pos + seqlen] = xk
        self.cache_v[:bsz, start_pos : start_pos + seqlen] = xv

        keys = self.cache_k[:bsz, : start_pos + seqlen]
        values = self.cache_v[:bsz, : start_pos + seqlen]
        scores = torch.matmul(xq, keys.transpose(1, 2)) / math.sqrt(x.shape[-1])
        scores = F.softmax(scores + mask, dim=-1)
        return self.wo(torch.matmul(scores, values))


class Transformer(nn.Module):
    def __init__(self, vocab_size=30, dim=16, max_batch_size=4, max_seq_len=12):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.attention = Attention(dim, max_batch_size, max_seq_len)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, tokens, start_pos=0):
        h = self.tok_embeddings(tokens)
        mask = torch.full((tokens.shape[1], tokens.shape[1]), float("-inf")).triu(1)
        return self.output(h + self.attention(h, start_pos, mask))


# %%
model = Transformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(3):
    tokens = torch.randint(0, 30, (4, 9))
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
