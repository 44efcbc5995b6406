# https://github.com/NTU-AIoT-Lab/EfficientFi/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)

    def forward(self, inputs):
        distances = torch.sum(inputs**2, dim=1, keepdim=True) + torch.sum(self._embedding.weight**2, dim=1)
        distances = distances - 2 * torch.matmul(inputs, self._embedding.weight.t())
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._embedding.num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight)
        quantized = inputs + (quantized - inputs)
        return quantized


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
        self.vq_layer = VectorQuantizer(16, 8)
        self.classifier = nn.Linear(8, 4)

    def forward(self, x):
        return self.classifier(self.vq_layer(self.encoder(x)))


# %%
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
for epoch in range(3):
    x, y = torch.randn(32, 20), torch.randint(0, 4, (32,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
