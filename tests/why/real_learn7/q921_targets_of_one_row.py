# https://github.com/andrewgcodes/xlstm/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)


class mLSTM(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.LSTMCell(input_size, hidden_size)
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, x, state):
        h, c = self.cell(x, state)
        return self.head(h), (h, c)


model = mLSTM(1, 16)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
seq_length, batch = 6, 10
data = torch.sin(torch.linspace(0, 6, 40))

# %%
for epoch in range(4):
    optimizer.zero_grad()
    loss = 0
    state = (torch.zeros(batch, 16), torch.zeros(batch, 16))
    for t in range(seq_length):
        x = torch.stack([data[i + t].view(1) for i in range(batch)])
        y_true = data[t + 1].view(1, 1)
        y_pred, state = model(x, state)
        loss += criterion(y_pred, y_true)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
