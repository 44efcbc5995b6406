# https://discuss.pytorch.org/t/tensor-to-device-changes-is-leaf-causing-cant-optimize-a-non-leaf-tensor/37659
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

Data = namedtuple('Data', ['x', 'edge_index', 'y', 'device', 'dtype'])


def load_data(device, dtype):
    y = torch.arange(10) % 2
    x = torch.randn(10, 4).to(device, dtype) + y[:, None].to(device, dtype)
    edge_index = torch.tensor([(i, j) for i in range(10) for j in range(10) if i != j and y[i] == y[j]]).t()
    return Data(x, edge_index.to(device), y.to(device), device, dtype)


class Net(nn.Module):
    def __init__(self, in_channels, out_channels):
        super(Net, self).__init__()
        self.lin = nn.Linear(in_channels, out_channels)

    def forward(self, x, weight, edge_index):
        src, dst = edge_index
        messages = torch.sigmoid(weight[src, dst])[:, None] * x[src]
        out = torch.zeros_like(x).index_add(0, dst, messages)
        return self.lin(x + out / 4)


# %%
data = load_data(torch.device('cpu'), torch.float64)
net = Net(4, 2).to(data.device, data.dtype)

test = torch.zeros((10, 10)).requires_grad_(True)
print(test.is_leaf)
test = test.to(data.device, data.dtype)
print(test.is_leaf)

# %%
optimizer = torch.optim.Adam([{'params': net.parameters()}, {'params': [test]}], lr=0.01)
for epoch in range(100):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(data.x, test, data.edge_index), data.y)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item(), test.abs().max().item())
