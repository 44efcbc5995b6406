# https://github.com/elbayadm/attn2d/issues/20
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiheadAttention(nn.Module):
    """Multi-headed attention."""

    def __init__(self, embed_dim, num_heads, dropout=0.):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.head_dim = embed_dim // num_heads
        self.scaling = self.head_dim ** -0.5
        self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, query, key, value, attn_mask=None):
        """Input shape: Time x Batch x Channel"""
        qkv_same = query.data_ptr() == key.data_ptr() == value.data_ptr()
        kv_same = key.data_ptr() == value.data_ptr()
        tgt_len, bsz, embed_dim = query.size()

        if qkv_same:
            # self-attention
            q, k, v = self.in_proj_qkv(query)
        elif kv_same:
            # encoder-decoder attention
            q = self.in_proj_q(query)
            k, v = self.in_proj_kv(key)
        q *= self.scaling

        q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        k = k.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        v = v.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)

        attn_weights = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            attn_weights = attn_weights + attn_mask.unsqueeze(0)
        attn_weights = F.softmax(attn_weights.float(), dim=-1).type_as(attn_weights)
        attn_weights = F.dropout(attn_weights, p=self.dropout, training=self.training)
        attn = torch.bmm(attn_weights, v).transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        return self.out_proj(attn)

    def in_proj_qkv(self, query):
        return self._in_proj(query).chunk(3, dim=-1)

    def in_proj_kv(self, key):
        return self._in_proj(key, start=self.embed_dim).chunk(2, dim=-1)

    def in_proj_q(self, query):
        return self._in_proj(query, end=self.embed_dim)

    def _in_proj(self, input, start=0, end=None):
        return F.linear(input, self.in_proj_weight[start:end], self.in_proj_bias[start:end])


class WaitkTransformer(nn.Module):
    def __init__(self, src_dict, tgt_dict, dim=32, waitk=7):
        super().__init__()
        self.waitk, self.dim = waitk, dim
        self.src_embed, self.tgt_embed = nn.Embedding(src_dict, dim), nn.Embedding(tgt_dict, dim)
        self.encoder_attn, self.self_attn = MultiheadAttention(dim, 4), MultiheadAttention(dim, 4)
        self.cross_attn = MultiheadAttention(dim, 4)

    @staticmethod
    def future_mask(rows, cols, ahead):
        return torch.triu(torch.full((rows, cols), float('-inf')), ahead)

    def forward(self, src_tokens, prev_output_tokens):
        x = math.sqrt(self.dim) * self.src_embed(src_tokens).transpose(0, 1)
        y = math.sqrt(self.dim) * self.tgt_embed(prev_output_tokens).transpose(0, 1)
        x = x + self.encoder_attn(x, x, x, attn_mask=self.future_mask(len(x), len(x), 1))
        y = y + self.self_attn(y, y, y, attn_mask=self.future_mask(len(y), len(y), 1))
        y = y + self.cross_attn(y, x, x, attn_mask=self.future_mask(len(y), len(x), self.waitk))
        return F.linear(y, self.tgt_embed.weight).transpose(0, 1)


# %%
model = WaitkTransformer(src_dict=50, tgt_dict=40)
optimizer = torch.optim.Adam(model.parameters(), lr=0.002, betas=(0.9, 0.98))
src_tokens = torch.randint(0, 50, (4, 12))
target = torch.randint(0, 40, (4, 10))
prev_output_tokens = torch.cat([torch.zeros(4, 1, dtype=torch.long), target[:, :-1]], dim=1)

# %%
for update in range(2):
    optimizer.zero_grad()
    logits = model(src_tokens, prev_output_tokens)
    loss = F.cross_entropy(logits.reshape(-1, 40), target.view(-1), label_smoothing=0.1)
    loss.backward()
    optimizer.step()
