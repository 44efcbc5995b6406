# https://github.com/dmlc/dgl/issues/2904
import argparse
import math

import torch as th
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

th.manual_seed(0)

device = th.device("cpu")
in_feats, n_classes = 16, 4


class GraphConv(nn.Module):
    def __init__(self, in_feats, out_feats, norm="both", bias=True):
        super().__init__()
        self.weight = nn.Parameter(th.empty(in_feats, out_feats))
        nn.init.xavier_uniform_(self.weight)
        self.bias = nn.Parameter(th.zeros(out_feats)) if bias else None

    def forward(self, graph, feat):
        rst = graph @ (feat @ self.weight)
        return rst if self.bias is None else rst + self.bias


class GCN(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers, activation, dropout, use_linear):
        super().__init__()
        self.n_layers = n_layers
        self.use_linear = use_linear
        self.convs, self.linear, self.norms = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()

        for i in range(n_layers):
            in_hidden = n_hidden if i > 0 else in_feats
            out_hidden = n_hidden if i < n_layers - 1 else n_classes
            bias = i == n_layers - 1
            self.convs.append(GraphConv(in_hidden, out_hidden, "both", bias=bias))
            if use_linear:
                self.linear.append(nn.Linear(in_hidden, out_hidden, bias=False))
            if i < n_layers - 1:
                self.norms.append(nn.BatchNorm1d(out_hidden))

        self.input_drop = nn.Dropout(min(0.1, dropout))
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, graph, feat):
        h = self.input_drop(feat)
        for i in range(self.n_layers):
            conv = self.convs[i](graph, h)
            h = conv + self.linear[i](h) if self.use_linear else conv
            if i < self.n_layers - 1:
                h = self.norms[i](h)
                h = self.activation(h)
                h = self.dropout(h)
        return h


def cross_entropy(x, labels):
    y = F.cross_entropy(x, labels[:, 0], reduction="none")
    y = th.log(0.5 + y) - math.log(0.5)
    return th.mean(y)


def compute_acc(pred, labels):
    return (pred.argmax(dim=-1, keepdim=True) == labels).float().mean().item()


def add_labels(feat, labels, idx):
    onehot = th.zeros([feat.shape[0], n_classes]).to(device)
    onehot[idx, labels[idx, 0]] = 1
    return th.cat([feat, onehot], dim=-1)


def adjust_learning_rate(optimizer, lr, epoch):
    if epoch <= 20:
        for param_group in optimizer.param_groups:
            param_group["lr"] = lr * epoch / 20


def train(model, graph, feat, labels, train_idx, optimizer, use_labels):
    model.train()
    mask_rate = 0.5
    mask = th.rand(train_idx.shape) < mask_rate

    if use_labels:
        train_labels_idx = train_idx[mask]
        train_pred_idx = train_idx[~mask]
        feat = add_labels(feat, labels, train_labels_idx)
    else:
        train_pred_idx = train_idx[mask]

    optimizer.zero_grad()
    pred = model(graph, feat)
    pred.retain_grad()
    loss = cross_entropy(pred[train_pred_idx], labels[train_pred_idx])
    loss.backward()
    optimizer.step()
    reached = (pred.grad.abs().sum(1) > 0).nonzero().flatten()
    return loss, pred, set(reached.tolist()) == set(train_pred_idx.tolist())


@th.no_grad()
def evaluate(model, graph, feat, labels, train_idx, idx, use_labels):
    model.eval()
    if use_labels:
        feat = add_labels(feat, labels, train_idx)
    pred = model(graph, feat)
    return compute_acc(pred[idx], labels[idx]), cross_entropy(pred[idx], labels[idx]).item()


# %%
args = argparse.Namespace(use_labels=True, use_linear=True, lr=0.02, n_layers=3, n_hidden=32, dropout=0.3, wd=0, n_epochs=100)
labels = th.randint(0, n_classes, (300, 1))
feat = F.one_hot(labels[:, 0], n_classes).float() @ th.randn(n_classes, in_feats) + 2.5 * th.randn(300, in_feats)
edges = th.rand(300, 300) < th.where(labels == labels.t(), 0.03, 0.003)
adj = ((edges | edges.t()).float() + th.eye(300)).clamp(max=1)
degree = adj.sum(1)
graph = adj / degree[:, None].sqrt() / degree[None].sqrt()
train_idx, val_idx = th.randperm(300).split([180, 120])

model = GCN(in_feats + n_classes, args.n_hidden, n_classes, args.n_layers, F.relu, args.dropout, args.use_linear)
optimizer = optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
lr_scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=100, min_lr=1e-3)

# %%
losses, masked = [], []
for epoch in range(1, args.n_epochs + 1):
    adjust_learning_rate(optimizer, args.lr, epoch)
    loss, pred, only_these = train(model, graph, feat, labels, train_idx, optimizer, args.use_labels)
    lr_scheduler.step(loss.item())
    losses.append(loss.item())
    masked.append(only_these)

# %%
val_acc, val_loss = evaluate(model, graph, feat, labels, train_idx, val_idx, args.use_labels)
print(losses[0], losses[-1], val_acc, val_loss, all(masked))
assert all(masked) and val_acc > 0.8 and losses[-1] < 0.4 * losses[0]
