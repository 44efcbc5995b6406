# https://github.com/sigeisler/robustness_of_gnns_at_scale/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
n, n_features, n_classes, n_block = 20, 8, 3, 12


class GCN(nn.Module):
    def __init__(self, n_filters=16, dropout=0.5, do_cache_adj_prep=True):
        super().__init__()
        self.dropout, self.do_cache_adj_prep = dropout, do_cache_adj_prep
        self.adj_preped = None
        self.lin1, self.lin2 = nn.Linear(n_features, n_filters), nn.Linear(n_filters, n_classes)

    def _preprocess_adjacency_matrix(self, edge_index, edge_weight):
        if self.adj_preped is not None:
            return self.adj_preped
        adj = torch.eye(n).index_put((edge_index[0], edge_index[1]), edge_weight, accumulate=True)
        deg = adj.sum(1).clamp(min=1e-6).pow(-0.5)
        adj = deg[:, None] * adj * deg[None, :]
        if self.training and self.do_cache_adj_prep:
            self.adj_preped = adj
        return adj

    def forward(self, x, edge_index, edge_weight):
        adj = self._preprocess_adjacency_matrix(edge_index, edge_weight)
        x = F.dropout(torch.relu(adj @ self.lin1(x)), self.dropout, self.training)
        return adj @ self.lin2(x)


class PRBCD:
    def __init__(self, model, x, edge_index, labels):
        self.attacked_model, self.x, self.edge_index, self.labels = model, x, edge_index, labels
        self.attacked_model.train()
        self.search_space = torch.randint(0, n, (2, n_block))
        self.perturbed_edge_weight = torch.full((n_block,), 1e-3, requires_grad=True)

    def get_modified_adj(self):
        edge_index = torch.cat([self.edge_index, self.search_space], dim=1)
        return edge_index, torch.cat([torch.ones(self.edge_index.shape[1]), self.perturbed_edge_weight])

    def attack(self, epochs, lr=0.5):
        for epoch in range(epochs):
            self.perturbed_edge_weight.requires_grad = True
            edge_index, edge_weight = self.get_modified_adj()
            logits = self.attacked_model(self.x, edge_index, edge_weight)
            loss = F.cross_entropy(logits, self.labels)
            self.perturbed_edge_weight.grad = None
            loss.backward()
            with torch.no_grad():
                self.perturbed_edge_weight += lr * self.perturbed_edge_weight.grad
                self.perturbed_edge_weight.clamp_(0, 1)
            print(epoch, loss.item())


# %%
x, labels = torch.randn(n, n_features), torch.randint(0, n_classes, (n,))
edge_index = torch.randint(0, n, (2, 40))
model = GCN()
attack = PRBCD(model, x, edge_index, labels)

# %%
attack.attack(epochs=5)
