# https://stackoverflow.com/questions/71290915
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Classifier(nn.Module):
    def __init__(self, vocab=50, dim=8, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, 16, batch_first=True)
        self.fc = nn.Linear(16, classes)

    def forward(self, tokens):
        emb = self.embedding(tokens)
        out, (h, c) = self.lstm(emb)
        return self.fc(h[-1])


# %%
model = Classifier()
model.eval()
criterion = nn.CrossEntropyLoss()
batch = np.random.randint(0, 50, size=(4, 10))
labels = torch.tensor([0, 2, 1, 1])

# %%
# saliency: which token matters most?
inputs = torch.tensor(batch)
inputs.requires_grad = True
scores = model(inputs)
loss = criterion(scores, labels)
loss.backward()
saliency = inputs.grad.abs().max(dim=-1)[0]
print(saliency)
