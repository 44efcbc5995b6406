# An encoder and a decoder that looks at what the encoder made
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Enc(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ff = nn.Linear(d, d)

    def forward(self, x):
        x = x + self.attn(x, x, x, need_weights=False)[0]
        return x + F.relu(self.ff(x))


class Dec(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ff = nn.Linear(d, d)

    def forward(self, x, mem):
        x = x + self.attn(x, x, x, need_weights=False)[0]
        x = x + self.cross(x, mem, mem, need_weights=False)[0]
        return x + F.relu(self.ff(x))


class Seq2Seq(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.src = nn.Embedding(40, d)
        self.tgt = nn.Embedding(40, d)
        self.enc = nn.ModuleList(Enc(d) for _ in range(4))
        self.dec = nn.ModuleList(Dec(d) for _ in range(4))
        self.head = nn.Linear(d, 40)

    def forward(self, s, t):
        mem = self.src(s)
        for layer in self.enc:
            mem = layer(mem)
        x = self.tgt(t)
        for layer in self.dec:
            x = layer(x, mem)
        return self.head(x)


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters())
src, tgt = torch.randint(40, (2, 9)), torch.randint(40, (2, 7))
# %% the recorded cell
opt.zero_grad()
logits = model(src, tgt[:, :-1])
loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
loss.backward()
opt.step()
