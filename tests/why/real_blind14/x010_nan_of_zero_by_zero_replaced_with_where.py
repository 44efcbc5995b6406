# https://github.com/pytorch/pytorch/issues/16317
import torch
import torch.nn as nn

torch.manual_seed(0)


class MeanOfValid(nn.Module):
    """The mean of the values of each row that are valid; a row without any gives 0."""

    def forward(self, values, valid):
        n = valid.sum(dim=1)
        y = (values * valid).sum(dim=1) / n
        return torch.where(n == 0, torch.zeros_like(y), y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
        self.pool = MeanOfValid()

    def forward(self, x, valid):
        return self.pool(torch.tanh(self.fc(x)), valid)


# %%
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x, target = torch.randn(10, 4), torch.randn(10)
    valid = (torch.rand(10, 6) > 0.5).float()
    valid[0] = 0
    y = net(x, valid)
    loss = (y - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
