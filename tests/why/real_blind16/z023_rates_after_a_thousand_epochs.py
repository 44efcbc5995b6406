# https://discuss.pytorch.org/t/why-does-my-deep-learning-model-get-only-30-cater-rate-even-after-1000-epochs/158194/11
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, features=8):
        super().__init__()
        self.fc1 = nn.Linear(features, 32)
        self.fc2 = nn.Linear(32, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def make_data(n=300):
    X = torch.randn(n, 8)
    y = (X[:, 0] + X[:, 1] * X[:, 2]).round().clamp(-2, 2)  # the rates, from bad to good
    return X, y


def hit_rate(model, X, y):
    with torch.no_grad():
        return (model(X).squeeze(1).round() == y).float().mean().item()


X, y = make_data()
loader = DataLoader(TensorDataset(X, y), batch_size=10, shuffle=True)
model = Model()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for epoch in range(60):
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item(), hit_rate(model, X, y))
