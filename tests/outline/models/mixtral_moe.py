# A small Mixtral: attention and a sparse mixture of experts in each of three layers
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv_proj = nn.Linear(d, 3 * d, bias=False)
        self.o_proj = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv_proj(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, d))


class Expert(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.w1 = nn.Linear(d, hidden, bias=False)
        self.w2 = nn.Linear(hidden, d, bias=False)
        self.w3 = nn.Linear(d, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoe(nn.Module):
    def __init__(self, d, experts=4, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, 2 * d) for _ in range(experts))

    def forward(self, x):
        b, t, d = x.shape
        x = x.reshape(-1, d)
        probs = F.softmax(self.gate(x), -1)
        weights, chosen = torch.topk(probs, self.k, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        mask = F.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        for i in range(len(self.experts)):
            slot, row = torch.where(mask[i])
            if len(row) == 0:
                continue
            out.index_add_(0, row, self.experts[i](x[row]) * weights[row, slot, None])
        return out.view(b, t, d)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1 = nn.RMSNorm(d)
        self.attn = Attention(d, 4)
        self.norm2 = nn.RMSNorm(d)
        self.moe = SparseMoe(d)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.moe(self.norm2(x))


class Mixtral(nn.Module):
    def __init__(self, vocab=40, d=32, layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(layers))
        self.norm = nn.RMSNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


model = Mixtral()
opt = torch.optim.AdamW(model.parameters())
ids = torch.randint(40, (2, 12))
# %% the recorded cell
opt.zero_grad()
logits = model(ids[:, :-1])
loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
opt.step()
