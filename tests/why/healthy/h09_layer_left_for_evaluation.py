# An auxiliary head that only evaluation uses.
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)
        self.auxiliary = nn.Linear(8, 2).requires_grad_(False)

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return self.head(h) if self.training else self.head(h) + self.auxiliary(h)


model = Net()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
loss.backward()
optimizer.step()
assert model.auxiliary.weight.grad is None
