# A hand-written recurrent network over 200 steps: one cell, called 200 times
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.wx = nn.Linear(8, 16)
        self.wh = nn.Linear(16, 16)

    def forward(self, x, h):
        return torch.tanh(self.wx(x) + self.wh(h))


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.head = nn.Linear(16, 3)

    def forward(self, xs):
        h = xs.new_zeros(xs.shape[1], 16)
        for x in xs:
            h = self.cell(x, h)
        return self.head(h)


model = RNN()
opt = torch.optim.Adam(model.parameters())
xs, y = torch.randn(200, 2, 8), torch.randint(3, (2,))
# %% the recorded cell
opt.zero_grad()
loss = F.cross_entropy(model(xs), y)
loss.backward()
opt.step()
