# https://github.com/pyg-team/pytorch_geometric/issues/874
from types import SimpleNamespace

import torch
import torch.nn.functional as F

torch.manual_seed(0)


class Data(SimpleNamespace):
    def to(self, device):
        return Data(x=self.x.to(device), edge_index=self.edge_index.to(device))


class GCNConv(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super(GCNConv, self).__init__()
        self.weight = torch.nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = torch.nn.Parameter(torch.zeros(out_channels))
        torch.nn.init.xavier_uniform_(self.weight)

    def adjacency(self, edge_index, n):
        adj = torch.eye(n)
        adj[edge_index[1], edge_index[0]] = 1
        scale = adj.sum(1).rsqrt()
        return scale[:, None] * adj * scale

    def forward(self, x, edge_index):
        return self.adjacency(edge_index, x.size(0)) @ (x @ self.weight) + self.bias


class Net(torch.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = GCNConv(3, 16)
        self.conv2 = GCNConv(16, 3)

    def forward(self, data):
        h = self.conv1(data.x, data.edge_index)
        return self.conv2(h, data.edge_index)


device = 'cpu'
model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters())

loader = [Data(x=torch.randn(20, 3), edge_index=torch.randint(0, 20, (2, 60))) for _ in range(8)]
epochs = 15

# %%
for e in range(epochs):
    running_loss = 0
    for data in loader:
        data = data.to(device)
        optimizer.zero_grad()
        out = model(data)
        loss = F.mse_loss(data.x, data.x)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(e, running_loss / len(loader))
