# https://github.com/asyml/texar-pytorch/issues/72
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MergeLayer(nn.Module):
    """A layer that consists of multiple layers in parallel. Input is fed to each of the parallel layers, and the
    outputs are merged with a specified mode."""

    def __init__(self, layers, mode='concat', dim=1):
        super().__init__()
        self._mode, self._dim = mode, dim
        self._layers = layers

    def forward(self, input):
        layer_outputs = [F.relu(layer(input)).max(-1)[0] for layer in self._layers]
        if self._mode == 'concat':
            return torch.cat(layer_outputs, dim=self._dim)
        if self._mode == 'elemwise_sum':
            return sum(layer_outputs)
        raise ValueError("Unknown merge mode: '%s'" % self._mode)


class Conv1DEncoder(nn.Module):
    def __init__(self, vocab_size=50, embed_dim=16, filters=8, kernel_size=(3, 4, 5), num_classes=2):
        super().__init__()
        self.embedder = nn.Embedding(vocab_size, embed_dim)
        self.merge = MergeLayer([nn.Conv1d(embed_dim, filters, k) for k in kernel_size])
        self.dropout = nn.Dropout(0.1)
        self.dense = nn.Linear(filters * len(kernel_size), num_classes)

    def forward(self, input_ids):
        emb = self.embedder(input_ids).transpose(1, 2)
        return self.dense(self.dropout(self.merge(emb)))


# %%
encoder = Conv1DEncoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
input_ids, labels = torch.randint(0, 50, (32, 12)), torch.randint(0, 2, (32,))
before = encoder.merge._layers[0].weight.detach().clone()

# %%
encoder.train()
for step in range(5):
    loss = F.cross_entropy(encoder(input_ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(len(list(encoder.parameters())))
