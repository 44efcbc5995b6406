# https://github.com/dmlc/dgl/issues/2657
import numpy as np
import torch as th
import torch.nn as nn


def pad_packed_tensor(input, lengths, value):
    out, start = [], 0
    for l in lengths:
        part = input[start:start + l]
        out.append(th.cat([part, part.new_full((max(lengths) - l,) + part.shape[1:], value)]))
        start += l
    return th.stack(out)


def pack_padded_tensor(input, lengths):
    return th.cat([input[i, :l] for i, l in enumerate(lengths)])


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, d_head, d_ff):
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_head
        self.proj_q = nn.Linear(d_model, num_heads * d_head, bias=False)
        self.proj_k = nn.Linear(d_model, num_heads * d_head, bias=False)
        self.proj_v = nn.Linear(d_model, num_heads * d_head, bias=False)
        self.proj_o = nn.Linear(num_heads * d_head, d_model, bias=False)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm_in, self.norm_inter = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def self_attention(self, x, mem, lengths_x, lengths_mem):
        batch_size = len(lengths_x)
        max_len_x, max_len_mem = max(lengths_x), max(lengths_mem)
        queries = self.proj_q(x).view(-1, self.num_heads, self.d_head)
        keys = self.proj_k(mem).view(-1, self.num_heads, self.d_head)
        values = self.proj_v(mem).view(-1, self.num_heads, self.d_head)

        # padding to (B, max_len_x/mem, num_heads, d_head)
        queries = pad_packed_tensor(queries, lengths_x, 0)
        keys = pad_packed_tensor(keys, lengths_mem, 0)
        values = pad_packed_tensor(values, lengths_mem, 0)

        # attention score with shape (B, num_heads, max_len_x, max_len_mem)
        e = th.einsum('bxhd,byhd->bhxy', queries, keys)
        # normalize
        e = e / np.sqrt(self.d_head)

        # generate mask
        mask = th.zeros(batch_size, max_len_x, max_len_mem).to(e.device)
        for i in range(batch_size):
            mask[i, :lengths_x[i], :lengths_mem[i]].fill_(1)
        mask = mask.unsqueeze(1)
        e.masked_fill_(mask == 0, -float('inf'))

        # apply softmax
        alpha = th.softmax(e, dim=-1)
        # sum of value weighted by alpha
        out = th.einsum('bhxy,byhd->bxhd', alpha, values)
        # project to output
        out = self.proj_o(out.contiguous().view(batch_size, max_len_x, self.num_heads * self.d_head))
        # pack tensor
        return pack_padded_tensor(out, lengths_x)

    def forward(self, x, mem, lengths_x, lengths_mem):
        x = x + self.self_attention(self.norm_in(x), mem, lengths_x, lengths_mem)
        return x + self.ffn(self.norm_inter(x))


class SetTransformer(nn.Module):
    def __init__(self, d_model=8, n_classes=3):
        super().__init__()
        self.embed = nn.Linear(4, d_model)
        self.layers = nn.ModuleList([MultiHeadAttention(d_model, 2, 4, 16) for _ in range(2)])
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, feat, lengths):
        h = self.embed(feat)
        for layer in self.layers:
            h = layer(h, h, lengths, lengths)
        return self.out(th.stack([part.mean(0) for part in th.split(h, lengths)]))


# %%
model = SetTransformer()
optimizer = th.optim.Adam(model.parameters(), lr=1e-3)
lengths = [5, 2, 3]
feat, labels = th.randn(sum(lengths), 4), th.tensor([0, 1, 2])

# %%
logits = model(feat, lengths)
loss = nn.functional.cross_entropy(logits, labels)
print(loss.item())
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(model(feat, lengths))
