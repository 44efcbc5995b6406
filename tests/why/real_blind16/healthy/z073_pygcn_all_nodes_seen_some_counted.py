# https://github.com/tkipf/pygcn/issues/50
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


def accuracy(output, labels):
    return (output.argmax(1) == labels).float().mean().item()


def load_data(n=240, classes=4):
    """Papers cite mostly their own field; their words alone say little about it."""
    labels = torch.arange(n) % classes
    same = labels[:, None] == labels[None]
    edges = torch.rand(n, n) < torch.where(same, 0.12, 0.01)
    adj = (edges | edges.t()).float()
    adj.fill_diagonal_(1)
    adj = (adj / adj.sum(1, keepdim=True)).to_sparse()
    topics = torch.rand(classes, 60) < 0.12
    features = (torch.rand(n, 60) < torch.where(topics[labels], 0.25, 0.08)).float()
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    order = torch.arange(n)
    return adj, features, labels, order[:24], order[24:80], order[80:]


# %%
adj, features, labels, idx_train, idx_val, idx_test = load_data()
model = GCN(nfeat=features.shape[1], nhid=16, nclass=labels.max().item() + 1, dropout=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
history = []


def train(epoch):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()

    # validation runs without dropout
    model.eval()
    output = model(features, adj)
    loss_val = F.nll_loss(output[idx_val], labels[idx_val])
    history.append((loss_train.item(), loss_val.item(), accuracy(output[idx_val], labels[idx_val])))
    return loss_train, loss_val


# %%
for epoch in range(200):
    loss_train, loss_val = train(epoch)

# %%
model.eval()
output = model(features, adj)
acc_test = accuracy(output[idx_test], labels[idx_test])
by_output, = torch.autograd.grad(F.nll_loss(output[idx_train], labels[idx_train]), output)
touched = by_output.abs().sum(1) > 0
print(history[0], history[-1], acc_test, int(touched.sum()))
assert touched[idx_train].all() and not touched[idx_val].any() and not touched[idx_test].any()
assert history[-1][0] < 0.6 * history[0][0] and history[-1][1] < history[0][1]
assert acc_test > 0.85
