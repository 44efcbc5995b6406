# https://github.com/pytorch/pytorch/issues/24898
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, in_dim=20, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


# %%
x = torch.randn(512, 20) * 3
y = x @ torch.randn(20, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = Net()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
iter_size = 8

# %%
iter_num, first = 0, None
for epoch in range(6):
    for data, target in loader:
        iter_num += 1
        loss = criterion(model(data), target)
        if first is None:
            first = loss.item()
        loss.backward()
        if iter_num % iter_size == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item())
