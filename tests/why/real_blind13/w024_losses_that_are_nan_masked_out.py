# https://github.com/pytorch/pytorch/issues/23156
import torch
import torch.nn as nn

torch.manual_seed(0)


def has_err(x):
    return bool(((x != x) | (x == float("inf")) | (x == float("-inf"))).any().item())


class RowLoss(nn.Module):
    """One squared error for each row."""

    def forward(self, outputs, targets):
        return ((outputs - targets) ** 2).mean(dim=1)


def sensor_rows(n, broken):
    rows = torch.randn(n, 4)
    targets = rows @ torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, -1.0]])
    rows[broken] = float("nan")
    return rows, targets


# %%
linear = nn.Linear(4, 2)
criterion = RowLoss()
optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
x, y = sensor_rows(12, broken=2)

for epoch, (batch, targets) in enumerate(zip(x.split(3), y.split(3))):
    losses = criterion(linear(batch), targets)
    # the broken sensor does not count
    loss = losses.masked_fill(losses != losses, 0.0).sum()
    optimizer.zero_grad()
    loss.backward()
    print(epoch, loss.item(), has_err(linear.weight.grad))
    optimizer.step()
