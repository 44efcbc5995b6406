# https://github.com/pyg-team/pytorch-frame/pull/229
from typing import List, Optional

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import Embedding

torch.manual_seed(0)


class HashTextEmbedder:
    r"""A hash-based light-weight text embedder for testing purposes."""

    def __init__(self, out_channels: int, num_hash_bins: int = 64,
                 device: Optional[torch.device] = None):
        self.out_channels = out_channels
        self.num_hash_bins = num_hash_bins
        self.device = device
        self.embedding = Embedding(num_hash_bins, out_channels).to(device)

    def __call__(self, sentences: List[str]) -> Tensor:
        idx = torch.tensor([sum(s.encode()) % self.num_hash_bins for s in sentences])
        return self.embedding(idx)


class Dataset:
    def __init__(self, texts, numbers, text_embedder):
        self.texts, self.numbers, self.text_embedder = texts, numbers, text_embedder

    def materialize(self):
        x_text = self.text_embedder(self.texts)
        x_text = (x_text - x_text.mean(0)) / x_text.std(0)
        return torch.cat([x_text, self.numbers], dim=1)


class TabularModel(nn.Module):
    def __init__(self, in_channels, channels=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_channels, channels), nn.ReLU())
        self.decoder = nn.Linear(channels, 1)

    def forward(self, tf):
        return self.decoder(self.encoder(tf)).squeeze(-1)


# %%
texts = [f"product {i % 7} in {color}" for i, color in enumerate(["red", "blue", "green"] * 20)]
numbers, y = torch.randn(60, 3), torch.rand(60)
features = Dataset(texts, numbers, HashTextEmbedder(8)).materialize()
model = TabularModel(features.size(1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

# %%
for epoch in range(3):
    pred = model(features)
    loss = nn.functional.mse_loss(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
