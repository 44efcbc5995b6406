# https://github.com/astep-aau/Attribute-Prediction/blob/main/main.py
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

# Data
t = torch.linspace(0, 80, 500)
data = torch.sin(t)


def create_sequences(data, seq_length):
    xs, ys = [], []
    for i in range(len(data) - seq_length):
        x = data[i:(i + seq_length)]
        y = data[i + seq_length]
        xs.append(x)
        ys.append(y)
    return torch.stack(xs), torch.stack(ys)


seq_length = 20
X, y = create_sequences(data, seq_length)
trainX = X[:, :, None]  # (samples, seq_len, 1)
trainY = y[:, None]     # (samples, 1)


# %%
# Model
class LSTMModel(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers=1):
        super().__init__()
        self.hidden_size = hidden_dim
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        c0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        out, _ = self.lstm(x, (h0, c0))
        out = self.fc(out[:, -1, :])
        return out


model = LSTMModel(input_dim=1, hidden_dim=20, output_dim=1, num_layers=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)

# %%
# Training
num_epochs = 60
losses = []
for epoch in range(num_epochs):
    optimizer.zero_grad()
    outputs = model(trainX)
    loss = criterion(outputs, trainY)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if (epoch + 1) % 10 == 0:
        print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {loss.item():.6f}")

# %%
# Prediction
model.eval()
with torch.no_grad():
    preds = model(trainX)
worst = (preds - trainY).abs().max().item()
print(worst)
assert losses[-1] < 0.05 * losses[0] and worst < 0.3
