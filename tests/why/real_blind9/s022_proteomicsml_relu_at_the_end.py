# https://github.com/ProteomicsML/ProteomicsML/pull/203
import torch
import torch.nn as nn

torch.manual_seed(1)
peptides = torch.randint(1, 21, (48, 10))
ccs = torch.rand(48, 1) * 2 + 3


class LSTMNet(nn.Module):
    def __init__(self, vocab=21, emb=8, hidden=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.fc1 = nn.Linear(2 * hidden, 16)
        self.fc2 = nn.Linear(16, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        out, _ = self.lstm(self.embedding(x))
        x = self.relu(self.fc1(out[:, -1]))
        return self.relu(self.fc2(x))


# %%
model = LSTMNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

# %%
for epoch in range(6):
    optimizer.zero_grad()
    prediction = model(peptides)
    loss = criterion(prediction, ccs)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), prediction.max().item())
