# https://github.com/LeoFafoutis/MSML602-Homework-0/blob/main/sampleAE.py
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self):
        super(AutoEncoder, self).__init__()
        self.encoder = nn.Sequential(
            nn.Linear(144, 96),
            nn.ReLU(),
            nn.Linear(96, 48),
            nn.ReLU(),
            nn.Linear(48, 8)
        )
        self.decoder = nn.Sequential(
            nn.Linear(8, 48),
            nn.ReLU(),
            nn.Linear(48, 96),
            nn.ReLU(),
            nn.Linear(96, 144),
            nn.Sigmoid()
        )

    def forward(self, x):
        x = self.encoder(x)
        x = self.decoder(x)
        return x


def strokes(n):
    """A bright line through a picture of twelve by twelve, as one row of numbers."""
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing='ij')
    angle, offset = torch.rand(n, 1, 1) * 3.1416, torch.rand(n, 1, 1) - 0.5
    distance = xx * torch.cos(angle) + yy * torch.sin(angle) - offset
    return torch.exp(-20 * distance ** 2).view(n, -1)


# %%
train_dataset = TensorDataset(strokes(2048), torch.zeros(2048))
train_loader = DataLoader(train_dataset, batch_size=128, shuffle=True)
model = AutoEncoder()
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.002)

# %%
num_epochs = 20
history = []
for epoch in range(num_epochs):
    for data, _ in train_loader:
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, data)
        loss.backward()
        optimizer.step()
    history.append(loss.item())
    print(f'Epoch [{epoch + 1}/{num_epochs}], Loss: {loss.item():.4f}')

# %%
with torch.no_grad():
    unseen = strokes(256)
    error = criterion(model(unseen), unseen).item()
    spread = (unseen - unseen.mean(0)).pow(2).mean().item()
print(error, spread)
assert error < 0.4 * spread and history[-1] < history[0]
