# An encoder with two objectives: masked words, and whether one sentence follows another
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm1 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x, hidden):
        seen, _ = self.attention(x, x, x, key_padding_mask=hidden, need_weights=False)
        x = self.norm1(x + seen)
        return self.norm2(x + self.outer(F.gelu(self.inner(x))))


class Bert(nn.Module):
    def __init__(self, words=60, width=16, layers=4):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.places = nn.Embedding(12, width)
        self.parts = nn.Embedding(2, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.follows = nn.Linear(width, 2)
        self.masked = nn.Linear(width, words)

    def forward(self, ids, part):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.parts(part)
        for layer in self.layers:
            x = layer(x, ids == 0)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.masked(x), self.follows(pooled)


model = Bert()
opt = torch.optim.AdamW(
    [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ],
    lr=1e-3,
)
ids = torch.randint(1, 60, (3, 12))
part = (torch.arange(12) > 5).long().expand(3, 12)
follows = torch.tensor([0, 1, 1])
# %% the recorded cell
opt.zero_grad()
words, next_one = model(ids, part)
masked_loss = F.cross_entropy(words.flatten(0, 1), ids.flatten())
follows_loss = F.cross_entropy(next_one, follows)
loss = masked_loss + follows_loss
loss.backward()
opt.step()
