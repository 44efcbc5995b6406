# https://github.com/LAMDA-Tabular/TALENT/pull/92
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, d_in, d_layers, d_out):
        super().__init__()
        dims = [d_in, *d_layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.head = nn.Linear(dims[-1], d_out)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        logit = self.head(x)
        return logit.squeeze(-1)


# %%
N = torch.randn(128, 5)
y = (N[:, :1] * 2 - N[:, 1:2] + 0.1 * torch.randn(128, 1))
train_loader = DataLoader(TensorDataset(N, y), batch_size=32, shuffle=True)
model = MLP(5, [32], 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

# %%
for epoch in range(5):
    tl = 0.0
    for X_num, y in train_loader:
        pred = model(X_num)
        loss = F.mse_loss(y, pred)
        tl += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'train loss', tl / len(train_loader))
