# https://github.com/DaehanKim/vgae_pytorch/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam

torch.manual_seed(0)
input_dim, hidden1_dim, hidden2_dim, num_nodes = 12, 8, 4, 20


def glorot_init(input_dim, output_dim):
    init_range = (6.0 / (input_dim + output_dim)) ** 0.5
    return nn.Parameter(torch.rand(input_dim, output_dim) * 2 * init_range - init_range)


class GraphConvSparse(nn.Module):
    def __init__(self, input_dim, output_dim, adj, activation=F.relu):
        super(GraphConvSparse, self).__init__()
        self.weight = glorot_init(input_dim, output_dim)
        self.adj = adj
        self.activation = activation

    def forward(self, inputs):
        x = torch.mm(inputs, self.weight)
        x = torch.mm(self.adj, x)
        return self.activation(x)


class VGAE(nn.Module):
    def __init__(self, adj):
        super(VGAE, self).__init__()
        self.base_gcn = GraphConvSparse(input_dim, hidden1_dim, adj)
        self.gcn_mean = GraphConvSparse(hidden1_dim, hidden2_dim, adj, activation=lambda x: x)
        self.gcn_logstddev = GraphConvSparse(hidden1_dim, hidden2_dim, adj, activation=lambda x: x)

    def encode(self, X):
        hidden = self.base_gcn(X)
        self.mean = self.gcn_mean(hidden)
        self.logstd = self.gcn_logstddev(hidden)
        gaussian_noise = torch.randn(X.size(0), hidden2_dim)
        return gaussian_noise * torch.exp(self.logstd) + self.mean

    def forward(self, X):
        Z = self.encode(X)
        return torch.sigmoid(torch.matmul(Z, Z.t()))


# %%
adj = (torch.rand(num_nodes, num_nodes) < 0.2).float()
adj_label = ((adj + adj.t() + torch.eye(num_nodes)) > 0).float()
adj_norm = adj_label / adj_label.sum(1, keepdim=True)
features = torch.rand(num_nodes, input_dim)

model = VGAE(adj_norm)
optimizer = Adam(model.parameters(), lr=0.01)

for epoch in range(20):
    A_pred = model(features)
    optimizer.zero_grad()
    loss = log_lik = F.binary_cross_entropy(A_pred.view(-1), adj_label.view(-1))
    kl_divergence = 0.5/ A_pred.size(0) * (1 + 2*model.logstd - model.mean**2 - torch.exp(model.logstd)).sum(1).mean()
    loss -= kl_divergence
    loss.backward()
    optimizer.step()
print("train_loss=", "{:.5f}".format(loss.item()), kl_divergence.item())
