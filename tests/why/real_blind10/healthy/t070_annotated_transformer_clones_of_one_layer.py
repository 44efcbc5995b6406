# https://github.com/harvardnlp/annotated-transformer/issues/9
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class LayerNorm(nn.Module):
    "Construct a layernorm module (See citation for details)."
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class EncoderLayer(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(size, 2, dropout, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))
        self.norms = clones(LayerNorm(size), 2)

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, y, need_weights=False)[0]
        return x + self.feed_forward(self.norms[1](x))


class Encoder(nn.Module):
    "Core encoder is a stack of N layers"
    def __init__(self, layer, N, vocab=20):
        super(Encoder, self).__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.layers = clones(layer, N)
        self.norm = LayerNorm(16)
        self.generator = nn.Linear(16, vocab)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return torch.log_softmax(self.generator(self.norm(x)), dim=-1)


# %%
model = Encoder(EncoderLayer(16, 0.1), 3)
# Initialize parameters with Glorot / fan_avg.
for p in model.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
data = torch.randint(1, 20, (30, 8))
for i in range(5):
    out = model(data)
    loss = nn.functional.nll_loss(out.view(-1, 20), data.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
