# https://github.com/pyg-team/pytorch_geometric/issues/1743
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12345)


def softmax(src, index, num_nodes):
    out = (src - src.max()).exp()
    total = torch.zeros(num_nodes, src.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels, heads=1, concat=True, negative_slope=0.2, dropout=0.):
        super(GATConv, self).__init__()
        self.heads, self.out_channels, self.concat = heads, out_channels, concat
        self.negative_slope, self.dropout = negative_slope, dropout
        self.lin_l = nn.Linear(in_channels, heads * out_channels, bias=False)
        self.lin_r = self.lin_l
        self.att_l = nn.Parameter(torch.Tensor(1, heads, out_channels))
        self.att_r = nn.Parameter(torch.Tensor(1, heads, out_channels))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels if concat else out_channels))
        nn.init.xavier_uniform_(self.att_l)
        nn.init.xavier_uniform_(self.att_r)

    def forward(self, x, edge_index):
        H, C = self.heads, self.out_channels
        x_l = x_r = self.lin_l(x).view(-1, H, C)
        alpha_l = alpha_r = (x_l * self.att_l).sum(dim=-1)
        out = self.propagate(edge_index, x_l, alpha_l, alpha_r)
        out = out.view(-1, H * C) if self.concat else out.mean(dim=1)
        return out + self.bias

    def propagate(self, edge_index, x, alpha_l, alpha_r):
        source, target = edge_index
        alpha = F.leaky_relu(alpha_l[source] + alpha_r[target], self.negative_slope)
        alpha = softmax(alpha, target, len(x))
        alpha = F.dropout(alpha, p=self.dropout, training=self.training)
        return torch.zeros_like(x).index_add(0, target, x[source] * alpha.unsqueeze(-1))


# %%
class Net(torch.nn.Module):
    def __init__(self, num_features=10, num_classes=3):
        super(Net, self).__init__()
        self.conv1 = GATConv(num_features, 4, heads=2, dropout=0.6)
        self.conv2 = GATConv(4 * 2, num_classes, heads=1, concat=False, dropout=0.6)

    def forward(self):
        x = F.dropout(data_x, p=0.6, training=self.training)
        x = F.elu(self.conv1(x, data_edge_index))
        x = F.dropout(x, p=0.6, training=self.training)
        x = self.conv2(x, data_edge_index)
        return F.log_softmax(x, dim=1)


data_x, data_y = torch.randn(20, 10), torch.randint(3, (20,))
data_edge_index = torch.cat([torch.randint(20, (2, 60)), torch.arange(20).repeat(2, 1)], dim=1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)

# %%
initial = {name: p.detach().clone() for name, p in model.named_parameters()}
for epoch in range(1, 4):
    model.train()
    optimizer.zero_grad()
    F.nll_loss(model(), data_y).backward()
    optimizer.step()
for name, p in model.named_parameters():
    print(name, 'updated' if not torch.equal(initial[name], p) else 'NOT updated')
