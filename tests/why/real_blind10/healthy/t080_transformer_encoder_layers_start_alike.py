# https://github.com/pytorch/pytorch/issues/86274
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self, vocab=25, d_model=16, num_layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        encoder_layer = nn.TransformerEncoderLayer(d_model=d_model, nhead=2, dim_feedforward=32, dropout=0.0,
                                                   batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(encoder_layer, num_layers=num_layers,
                                                         enable_nested_tensor=False)
        self.out = nn.Linear(d_model, 5)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.transformer_encoder.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.out(x)


# %%
model = Tagger()
layers = model.transformer_encoder.layers
alike = bool((layers[0].linear1.weight == layers[1].linear1.weight).all())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
tokens = torch.randint(0, 25, (6, 7))
tags = tokens % 5

for step in range(8):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(tokens)
    loss = F.cross_entropy(logits.float().flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
still_alike = bool((layers[0].linear1.weight == layers[1].linear1.weight).all())
print(alike, still_alike)
