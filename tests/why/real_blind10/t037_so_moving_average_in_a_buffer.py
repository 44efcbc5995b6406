# https://stackoverflow.com/questions/71382491
import torch
import torch.nn as nn

torch.manual_seed(0)


class MovingAverageNet(nn.Module):
    """Subtracts a running mean of its own features."""
    def __init__(self, n_in, n_hidden, momentum=0.9):
        super().__init__()
        self.fc0 = nn.Linear(n_in, n_hidden)
        self.fc1 = nn.Linear(n_hidden, n_hidden)
        self.fc2 = nn.Linear(n_hidden, 1)
        self.momentum = momentum
        self.moving_avg = torch.zeros(n_hidden)

    def forward(self, x):
        h = torch.tanh(self.fc1(torch.relu(self.fc0(x))))
        batch_mean = h.mean(dim=0)
        self.moving_avg *= self.momentum
        self.moving_avg += (1 - self.momentum) * batch_mean
        scaled = h / (1 + self.moving_avg.abs())
        return self.fc2(scaled)


# %%
model = MovingAverageNet(5, 10)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
dataloader = [(torch.randn(16, 5), torch.randn(16, 1)) for _ in range(6)]

# %%
for epoch in range(2):
    for i, (x, y) in enumerate(dataloader):
        output = model(x)
        loss = criterion(output, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        print(epoch, i, loss.item())
