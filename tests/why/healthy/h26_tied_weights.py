# Embedding and output share one weight.
import torch
import torch.nn.functional as F
from torch import nn

class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.mix = nn.Linear(6, 6)
        self.out = nn.Linear(6, 12, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        return self.out(torch.tanh(self.mix(self.embed(tokens))))


model = Language()
optimizer = torch.optim.Adam(model.parameters())
tokens = torch.randint(0, 12, (2, 7))
loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert model.embed.weight.grad is not None
