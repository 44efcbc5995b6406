# https://discuss.pytorch.org/t/torch-round-gradient/28628/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Counter(nn.Module):
    """How many of the eight lamps are on?"""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return torch.round(x)


def make_data(n):
    lamps = (torch.rand(n, 8) > 0.5).float()
    return lamps, lamps.sum(1, keepdim=True)


# %%
model = Counter()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = make_data(256)

for epoch in range(20):
    optimizer.zero_grad()
    prediction = model(x)
    loss = criterion(prediction, y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
