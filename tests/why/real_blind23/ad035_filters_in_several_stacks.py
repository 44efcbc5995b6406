# https://github.com/dmlc/dgl/issues/4202
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Graph:
    def __init__(self, n, src, dst):
        self.adj = torch.zeros(n, n)
        self.adj[dst, src] = 1

    def in_degrees(self):
        return self.adj.sum(1)

    def copy_u_sum(self, h):
        return self.adj @ h


def glorot(tensor):
    if tensor is not None:
        stdv = math.sqrt(6.0 / (tensor.size(-2) + tensor.size(-1)))
        tensor.data.uniform_(-stdv, stdv)


class ARMAConv(nn.Module):
    def __init__(self, in_dim, out_dim, num_stacks, num_layers, activation=None, dropout=0.0, bias=True):
        super(ARMAConv, self).__init__()
        self.in_dim = in_dim
        self.out_dim = out_dim
        self.K = num_stacks
        self.T = num_layers
        self.activation = activation
        self.dropout = nn.Dropout(p=dropout)

        # init weight
        self.w_0 = nn.ModuleDict({str(k): nn.Linear(in_dim, out_dim, bias=False) for k in range(self.K)})
        # deeper weight
        self.w = nn.ModuleDict({str(k): nn.Linear(out_dim, out_dim, bias=False) for k in range(self.K)})
        # v
        self.v = nn.ModuleDict({str(k): nn.Linear(in_dim, out_dim, bias=False) for k in range(self.K)})
        # bias
        if bias:
            self.bias = nn.Parameter(torch.zeros(self.K, self.T, 1, self.out_dim))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        for k in range(self.K):
            glorot(self.w_0[str(k)].weight)
            glorot(self.w[str(k)].weight)
            glorot(self.v[str(k)].weight)

    def forward(self, g, feats):
        init_feats = feats
        degs = g.in_degrees().float().clamp(min=1)
        norm = torch.pow(degs, -0.5).to(feats.device).unsqueeze(1)
        output = None

        for k in range(self.K):
            feats = init_feats
            for t in range(self.T):
                feats = feats * norm
                feats = g.copy_u_sum(feats)
                feats = feats * norm

                if t == 0:
                    feats = self.w_0[str(k)](feats)
                else:
                    feats = self.w[str(k)](feats)

                feats += self.dropout(self.v[str(k)](init_feats))
                feats += self.v[str(k)](self.dropout(init_feats))

                if self.bias is not None:
                    feats += self.bias[k][t]

                if self.activation is not None:
                    feats = self.activation(feats)

            if output is None:
                output = feats
            else:
                output += feats

        return output / self.K


class ARMA4NC(nn.Module):
    def __init__(self, in_dim, hid_dim, out_dim, num_stacks, num_layers, activation=None, dropout=0.0):
        super(ARMA4NC, self).__init__()
        self.conv1 = ARMAConv(in_dim, hid_dim, num_stacks, num_layers, activation, dropout)
        self.conv2 = ARMAConv(hid_dim, out_dim, num_stacks, num_layers, activation, dropout)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, g, feats):
        feats = F.relu(self.conv1(g, feats))
        feats = self.dropout(feats)
        return self.conv2(g, feats)


# %%
n_nodes, n_classes = 40, 7
graph = Graph(n_nodes, torch.randint(0, n_nodes, (160,)), torch.randint(0, n_nodes, (160,)))
feats, labels = torch.rand(n_nodes, 20), torch.randint(0, n_classes, (n_nodes,))
train_idx = torch.arange(20)
model = ARMA4NC(20, 16, n_classes, num_stacks=2, num_layers=1, activation=nn.ReLU(), dropout=0.5)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)

# %%
for epoch in range(3):
    model.train()
    logits = model(graph, feats)
    train_loss = loss_fn(logits[train_idx], labels[train_idx])
    opt.zero_grad()
    train_loss.backward()
    opt.step()
    print(epoch, train_loss.item())
