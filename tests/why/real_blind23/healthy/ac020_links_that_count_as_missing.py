# https://github.com/tkipf/gae/issues/26
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GraphConvolution(nn.Module):
    def __init__(self, input_dim, output_dim, dropout=0.0, act=torch.relu):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(input_dim, output_dim))
        nn.init.xavier_uniform_(self.weight)
        self.dropout, self.act = dropout, act

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, self.training)
        return self.act(torch.sparse.mm(adj, x @ self.weight))


class InnerProductDecoder(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = dropout

    def forward(self, z):
        z = F.dropout(z, self.dropout, self.training)
        return torch.mm(z, z.t()).reshape(-1)


class GCNModelVAE(nn.Module):
    def __init__(self, num_features, hidden1=32, hidden2=16, dropout=0.1):
        super().__init__()
        self.hidden1 = GraphConvolution(num_features, hidden1, dropout)
        self.z_mean_layer = GraphConvolution(hidden1, hidden2, dropout, act=lambda x: x)
        self.z_log_std_layer = GraphConvolution(hidden1, hidden2, dropout, act=lambda x: x)
        self.reconstructions = InnerProductDecoder()

    def forward(self, features, adj):
        hidden = self.hidden1(features, adj)
        self.z_mean, self.z_log_std = self.z_mean_layer(hidden, adj), self.z_log_std_layer(hidden, adj)
        z = self.z_mean + torch.randn_like(self.z_mean) * torch.exp(self.z_log_std)
        return self.reconstructions(z)


class OptimizerVAE:
    def __init__(self, model, num_nodes, pos_weight, norm, learning_rate=0.01):
        self.model, self.num_nodes, self.pos_weight, self.norm = model, num_nodes, pos_weight, norm
        self.optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

    def step(self, preds, labels):
        log_lik = self.norm * F.binary_cross_entropy_with_logits(preds, labels, pos_weight=self.pos_weight)
        self.kl = (0.5 / self.num_nodes) * torch.mean(torch.sum(
            1 + 2 * self.model.z_log_std - self.model.z_mean ** 2 - torch.exp(self.model.z_log_std) ** 2, 1))
        self.cost = log_lik - self.kl
        self.optimizer.zero_grad()
        self.cost.backward()
        self.optimizer.step()
        self.accuracy = (torch.sigmoid(preds).gt(0.5) == labels.bool()).float().mean().item()
        return log_lik.item(), self.cost.item()


def preprocess_graph(adj):
    adj_ = adj + torch.eye(len(adj))
    degree = adj_.sum(1).pow(-0.5)
    return (adj_ * degree[:, None] * degree[None]).to_sparse()


# %%
num_nodes = 80
groups = torch.arange(num_nodes) % 4
chance = torch.where(groups[:, None] == groups[None], 0.35, 0.01)
upper = (torch.rand(num_nodes, num_nodes) < chance).triu(1)
edges = upper.nonzero()
edges = edges[torch.randperm(len(edges))]
val_edges, train_edges = edges[:20], edges[20:]
adj_train = torch.zeros(num_nodes, num_nodes)
adj_train[train_edges[:, 0], train_edges[:, 1]] = 1.0
adj_train = adj_train + adj_train.T
features, adj_norm = torch.eye(num_nodes), preprocess_graph(adj_train)
adj_label = adj_train + torch.eye(num_nodes)
pos_weight = (num_nodes ** 2 - adj_train.sum()) / adj_train.sum()
norm = num_nodes ** 2 / float((num_nodes ** 2 - adj_train.sum()) * 2)

# %%
model = GCNModelVAE(num_nodes)
opt = OptimizerVAE(model, num_nodes, pos_weight, norm)
history = []
for epoch in range(150):
    model.train()
    history.append(opt.step(model(features, adj_norm), adj_label.reshape(-1)))

# %%
z = model.z_mean.detach()
val_scores = torch.sigmoid((z[val_edges[:, 0]] * z[val_edges[:, 1]]).sum(1))
labels_of_val = adj_label[val_edges[:, 0], val_edges[:, 1]]
print(history[0], history[-1], val_scores.mean().item(), labels_of_val.sum().item(), opt.accuracy)
