# Three epochs of a classifier, each with an evaluation: 21 iterations of one loop
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


model = Classifier()
opt = torch.optim.AdamW(model.parameters())
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(50, 8, 8), torch.randint(3, (50,)))
train, valid = DataLoader(data, 8, shuffle=True), DataLoader(data, 25)
# %% the recorded cell
for _epoch in range(3):
    model.train()
    for x, y in train:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in valid:
            right += (model(x).argmax(1) == y).sum().item()
