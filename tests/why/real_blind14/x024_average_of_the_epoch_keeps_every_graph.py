# https://github.com/jostmey/NakedAttention/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ self.value(x)


class Model(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.attention = SelfAttention(dim)
        self.output = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.embedding(x)
        return self.output((h + self.attention(h)).mean(dim=1)).squeeze(1)


xs = torch.randint(0, 20, (320, 12))
ys = (xs == 3).any(dim=1).float()
loader_train = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(xs, ys), batch_size=32)

# %%
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss = nn.BCEWithLogitsLoss()
for epoch in range(3):
    e_train, a_train = 0.0, 0.0
    for xs_batch, ys_batch in loader_train:
        ls_batch = model(xs_batch)
        e_batch = loss(ls_batch, ys_batch)
        a_batch = ((ls_batch > 0) == (ys_batch > 0.5)).float().mean()

        optimizer.zero_grad()
        e_batch.backward()
        optimizer.step()

        e_train += e_batch / len(loader_train)  # Accumulate average loss for this epoch
        a_train += a_batch / len(loader_train)  # Accumulate average accuracy for this epoch
    print(epoch, float(e_train), float(a_train))
