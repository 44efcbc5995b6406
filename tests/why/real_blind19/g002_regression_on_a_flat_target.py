# https://github.com/pytorch/pytorch/issues/19699
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self, n_features, n_hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(n_features, n_hidden)
        self.fc2 = nn.Linear(n_hidden, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


# %%
x = torch.randn(400, 5)
true_w = torch.tensor([1.5, -2.0, 0.7, 0.0, 1.0])
y = x @ true_w + 0.1 * torch.randn(400)
loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)
print(x.shape, y.shape, y.std().item())

# %%
model = Regressor(5)
loss = torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(100):
    total = 0.0
    for xb, b in loader:
        a = model(xb)
        value = loss(a, b)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        total += value.item()
    if epoch % 20 == 0:
        print(epoch, total / len(loader))

# %%
with torch.no_grad():
    a = model(x)
r2 = 1 - ((a.squeeze(1) - y) ** 2).mean().item() / y.var().item()
print("spread of the predictions", a.std().item(), "R2", r2)
