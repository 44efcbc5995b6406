# https://thecodeforge.io/ml-ai/pytorch-basics/
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class HousePriceModel(nn.Module):
    def __init__(self, n_features=6, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


features = torch.randn(160, 6)
prices = features @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0, 1.5]) + 0.1 * torch.randn(160)
train_loader = DataLoader(TensorDataset(features[:128], prices[:128]), batch_size=32)
val_features, val_prices = features[128:], prices[128:]

# %%
model = HousePriceModel()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []

for epoch in range(200):
    model.train()
    epoch_loss = 0.0
    for batch_x, batch_y in train_loader:
        predictions = model(batch_x)
        loss = criterion(predictions, batch_y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(batch_x)

    model.eval()
    with torch.no_grad():
        val_loss = criterion(model(val_features), val_prices).item()
    history.append(epoch_loss / 128)
    if epoch % 50 == 0:
        print(f"epoch {epoch:3d} train {history[-1]:.4f} val {val_loss:.4f}")
