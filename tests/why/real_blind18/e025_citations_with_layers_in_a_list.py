# https://github.com/pyg-team/pytorch_geometric/issues/7478
from types import SimpleNamespace

import torch
import torch.nn.functional as F

torch.manual_seed(0)


class GCNConv(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(out_channels))

    def forward(self, x, edge_index):
        num_nodes = x.size(0)
        loops = torch.arange(num_nodes)
        row = torch.cat([edge_index[0], loops])
        col = torch.cat([edge_index[1], loops])
        deg = torch.zeros(num_nodes).index_add(0, col, torch.ones(col.numel()))
        norm = deg[row].rsqrt() * deg[col].rsqrt()
        x = self.lin(x)
        out = torch.zeros_like(x).index_add(0, col, norm[:, None] * x[row])
        return out + self.bias


class Cora:
    num_node_features = 32
    num_classes = 4

    def __getitem__(self, idx):
        y = torch.randint(0, self.num_classes, (100,))
        x = torch.randn(100, self.num_node_features) + y[:, None]
        edge_index = torch.randint(0, 100, (2, 300))
        return SimpleNamespace(x=x, y=y, edge_index=edge_index, train_mask=torch.rand(100) < 0.5)


dataset = Cora()
data = dataset[0]


class GCN(torch.nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.convs = []
        self.convs.append(GCNConv(dataset.num_node_features, hidden))
        self.convs.append(GCNConv(hidden, dataset.num_classes))

    def forward(self, data):
        h = F.relu(self.convs[0](data.x, data.edge_index))
        h = F.dropout(h, training=self.training)
        h = self.convs[1](h, data.edge_index)
        return F.log_softmax(h, dim=1)


device = torch.device('cpu')
model = GCN().to(device)

# %%
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

model.train()
for epoch in range(200):
    out = model(data)
    loss = F.nll_loss(out[data.train_mask], data.y[data.train_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 49:
        print(epoch, loss.item())
