# https://discuss.pytorch.org/t/holding-a-linear-layer-weight-at-zero-through-backpropagation/209576
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PartlyConnected(nn.Module):
    """A network of which some connections shall not be there."""

    def __init__(self, n_in=4, n_hidden=6, n_out=2):
        super().__init__()
        self.hidden = nn.Linear(n_in, n_hidden)
        self.out = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))

    def cut(self, connections):
        for neuron, feature in connections:
            with torch.no_grad():
                self.hidden.weight[neuron, feature] = 0
            weight = self.hidden.weight[neuron, feature]
            weight.requires_grad = False


def data(n=128):
    x = torch.randn(n, 4)
    return x, (x[:, 0] * x[:, 1] > 0).long()


# %%
model = PartlyConnected()
x, y = data()
model.cut([(0, 1), (2, 3)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(30):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model.hidden.weight)
