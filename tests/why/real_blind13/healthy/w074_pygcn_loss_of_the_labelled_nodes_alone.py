# https://github.com/tkipf/pygcn/issues/73
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

np.random.seed(42)
torch.manual_seed(42)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        bound = 1 / math.sqrt(out_features)
        self.weight = Parameter(torch.empty(in_features, out_features).uniform_(-bound, bound))
        self.bias = Parameter(torch.empty(out_features).uniform_(-bound, bound))

    def forward(self, nodes, adj):
        return torch.sparse.mm(adj, nodes @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        hidden = F.dropout(F.relu(self.gc1(x, adj)), self.dropout, training=self.training)
        return F.log_softmax(self.gc2(hidden, adj), dim=1)


def load_data(n=180, classes=3):
    labels = np.arange(n) % classes
    same = labels[:, None] == labels[None, :]
    edges = np.random.rand(n, n) < np.where(same, 0.08, 0.01)
    adj = np.triu(edges, 1)
    adj = adj + adj.T + np.eye(n)
    adj = adj / adj.sum(1, keepdims=True)
    features = np.random.randn(n, 20) + 1.0 * np.eye(classes, 20)[labels]
    order = np.random.permutation(n)
    return (torch.tensor(adj, dtype=torch.float32).to_sparse(), torch.tensor(features, dtype=torch.float32),
            torch.tensor(labels), torch.tensor(order[:15]), torch.tensor(order[15:60]), torch.tensor(order[60:]))


def loss_and_accuracy(output, idx):
    loss = F.nll_loss(output[idx], labels[idx])
    return loss, (output[idx].argmax(1) == labels[idx]).float().mean().item()


# %%
adj, features, labels, idx_train, idx_val, idx_test = load_data()
model = GCN(nfeat=features.shape[1], nhid=16, nclass=3, dropout=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def train(epoch):
    model.train()
    optimizer.zero_grad()
    loss_train, acc_train = loss_and_accuracy(model(features, adj), idx_train)
    loss_train.backward()
    optimizer.step()
    model.eval()  # the validation without dropout
    loss_val, acc_val = loss_and_accuracy(model(features, adj), idx_val)
    return loss_train.item(), acc_train, loss_val.item(), acc_val


# %%
history = [train(epoch) for epoch in range(150)]

# %%
model.eval()
loss_test, acc_test = loss_and_accuracy(model(features, adj), idx_test)
print(history[0], history[-1], loss_test.item(), acc_test)
assert history[-1][0] < 0.5 * history[0][0] and acc_test > 0.65
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
