# https://github.com/mlech26l/ncps/issues/62
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class CfCCell(nn.Module):
    def __init__(self, input_size, hidden_size, backbone_units=32):
        super(CfCCell, self).__init__()
        self.backbone = nn.Sequential(nn.Linear(input_size + hidden_size, backbone_units), nn.Tanh())
        self.ff1 = nn.Linear(backbone_units, hidden_size)
        self.ff2 = nn.Linear(backbone_units, hidden_size)
        self.time_a = nn.Linear(backbone_units, hidden_size)
        self.time_b = nn.Linear(backbone_units, hidden_size)

    def forward(self, input, hx, ts):
        x = self.backbone(torch.cat([input, hx], 1))
        ff1 = torch.tanh(self.ff1(x))
        ff2 = torch.tanh(self.ff2(x))
        t_interp = torch.sigmoid(self.time_a(x) * ts + self.time_b(x))
        new_hidden = ff1 * (1.0 - t_interp) + t_interp * ff2
        return new_hidden, new_hidden


class CfC(nn.Module):
    def __init__(self, input_size, units, proj_size=1, return_sequences=True):
        super(CfC, self).__init__()
        self.state_size, self.return_sequences = units, return_sequences
        self.rnn_cell = CfCCell(input_size, units)
        self.fc = nn.Linear(units, proj_size)

    def forward(self, input, hx=None):
        h_state = torch.zeros(input.size(0), self.state_size) if hx is None else hx
        output_sequence = []
        for t in range(input.size(1)):
            h_out, h_state = self.rnn_cell(input[:, t], h_state, 1.0)
            output_sequence.append(self.fc(h_out))
        readout = torch.stack(output_sequence, dim=1) if self.return_sequences else output_sequence[-1]
        return readout, h_state


# %%
t = torch.linspace(0, 60, 640)
series = torch.stack([torch.sin(t), torch.cos(0.5 * t)], dim=1).view(8, 80, 2)
windows = torch.stack([series[:, i:i + 10] for i in range(0, 60, 10)])
targets = torch.stack([series[:, i + 1:i + 11, :1] for i in range(0, 60, 10)])
train_loader = DataLoader(TensorDataset(windows, targets), batch_size=1, shuffle=False)

model = CfC(2, 17, proj_size=1)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

# %%
num_epochs = 3
for epoch in range(num_epochs):
    model.train()
    hx = None
    total_loss = 0.0
    for inputs, labels in train_loader:
        inputs, labels = inputs[0], labels[0]
        optimizer.zero_grad()
        outputs, hx = model(inputs, hx)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    print(f"Epoch {epoch + 1}/{num_epochs}, Loss: {total_loss / len(train_loader):.4f}")
