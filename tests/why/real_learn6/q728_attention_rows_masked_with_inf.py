# https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/5
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class ScaledDotProductAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.temper = np.power(d_model, 0.5)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, attn_mask=None):
        attn = torch.bmm(q, k.transpose(1, 2)) / self.temper
        if attn_mask is not None:
            attn.data.masked_fill_(attn_mask, -float('inf'))
        attn = self.softmax(attn)
        output = torch.bmm(attn, v)
        return output, attn


class EncoderLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.w_qs, self.w_ks, self.w_vs = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.attention = ScaledDotProductAttention(d_model)
        self.layer_norm = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        output, attn = self.attention(self.w_qs(x), self.w_ks(x), self.w_vs(x), mask)
        return self.layer_norm(output + x)


class Transformer(nn.Module):
    def __init__(self, n_vocab=12, d_model=16):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, d_model, padding_idx=0)
        self.layer = EncoderLayer(d_model)
        self.tgt_word_proj = nn.Linear(d_model, n_vocab)

    def forward(self, seq):
        pad = seq.eq(0)
        mask = pad.unsqueeze(1) | pad.unsqueeze(2)
        return self.tgt_word_proj(self.layer(self.emb(seq), mask))


# %%
model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss(ignore_index=0)

# %%
for epoch in range(2):
    src = torch.randint(1, 12, (4, 6))
    src[1, 4:] = 0
    src[3, 5:] = 0
    pred = model(src)
    loss = crit(pred.view(-1, 12), src.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
