# https://github.com/facebookresearch/DME/issues/3
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SingleEmbedder(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.embedder = nn.Embedding(20, 8)
        self.proj = nn.Linear(8, 4)

    def forward(self, words):
        out = self.proj(self.embedder(words)).mean(1)
        if self.args.emb_dropout > 0.0:
            out = F.dropout(out, p=self.args.emb_dropout)
        return out


net = SingleEmbedder(argparse.Namespace(emb_dropout=0.4))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
words, y = torch.randint(20, (6, 5)), torch.randint(4, (6,))
for epoch in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(words), y)
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    one, two = net(words), net(words)
print((one - two).abs().max())
