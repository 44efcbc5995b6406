# Message passing on a graph: messages along edges are summed at nodes, then the whole graph is read
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Passing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())
        self.update = nn.GRUCell(width, width)

    def forward(self, x, edges):
        source, target = edges
        sent = self.message(torch.cat([x[source], x[target]], -1))
        total = torch.zeros_like(x)
        total = total.index_add(0, target, sent)
        return self.update(total, x)


class GraphNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.embed = nn.Linear(5, width)
        self.rounds = nn.ModuleList(Passing(width) for _ in range(3))
        self.gate = nn.Linear(width, 1)
        self.read = nn.Linear(width, width)
        self.head = nn.Linear(width, 2)

    def forward(self, nodes, edges):
        x = torch.tanh(self.embed(nodes))
        for layer in self.rounds:
            x = layer(x, edges)
        weight = torch.sigmoid(self.gate(x))
        whole = (weight * self.read(x)).mean(0)
        return self.head(whole)


model = GraphNet()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
nodes = torch.randn(10, 5)
edges = torch.randint(10, (2, 24))
label = torch.tensor(1)
# %% the recorded cell
opt.zero_grad()
scores = model(nodes, edges)
loss = F.cross_entropy(scores, label)
loss.backward()
opt.step()
