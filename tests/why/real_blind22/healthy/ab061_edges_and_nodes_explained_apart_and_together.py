# https://github.com/pyg-team/pytorch_geometric/issues/4708
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.lin_neigh = nn.Linear(in_channels, hidden_channels)
        self.lin_root = nn.Linear(in_channels, hidden_channels)
        self.lin_out = nn.Linear(hidden_channels, out_channels)

    def forward(self, x, edge_index, edge_mask):
        src, dst = edge_index
        messages = x[src] * edge_mask[:, None]
        neigh = torch.zeros_like(x).index_add(0, dst, messages)
        h = F.relu(self.lin_root(x) + self.lin_neigh(neigh))
        return F.log_softmax(self.lin_out(h.max(dim=0).values), dim=-1)


def integrated_gradients(forward, inputs, n_steps=50):
    totals = [torch.zeros_like(i) for i in inputs]
    for k in range(n_steps):
        scaled = [(i * (k + 0.5) / n_steps).detach().requires_grad_() for i in inputs]
        grads = torch.autograd.grad(forward(*scaled), scaled)
        totals = [t + g / n_steps for t, g in zip(totals, grads)]
    return [i * t for i, t in zip(inputs, totals)]


# %%
n_nodes, n_edges = 8, 20
graphs = [(torch.randn(n_nodes, 6), torch.randint(0, n_nodes, (2, n_edges))) for _ in range(40)]
labels = [int(x[:, 0].max() > 1.5) for x, _ in graphs]
model = Net(6, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for epoch in range(10):
    total = 0
    for (x, edge_index), label in zip(graphs, labels):
        optimizer.zero_grad()
        loss = -model(x, edge_index, torch.ones(n_edges))[label]
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / len(graphs))
print(losses[0], losses[-1])

# %%
model.eval()
x, edge_index = graphs[0]
edge_mask, target = torch.ones(n_edges), labels[0]
ig_attr_node1, = integrated_gradients(lambda x: model(x, edge_index, edge_mask)[target], [x])
ig_attr_edge1, = integrated_gradients(lambda m: model(x, edge_index, m)[target], [edge_mask])
ig_attr_node2, ig_attr_edge2 = integrated_gradients(lambda x, m: model(x, edge_index, m)[target], [x, edge_mask])
print(torch.allclose(ig_attr_node1, ig_attr_node2), torch.allclose(ig_attr_edge1, ig_attr_edge2))

# %%
with torch.no_grad():
    here = model(x, edge_index, edge_mask)[target]
    nowhere = model(torch.zeros_like(x), edge_index, torch.zeros_like(edge_mask))[target]
    without_nodes = model(torch.zeros_like(x), edge_index, edge_mask)[target]
complete_together = (ig_attr_node2.sum() + ig_attr_edge2.sum() - (here - nowhere)).abs().item()
complete_apart = (ig_attr_node1.sum() - (here - without_nodes)).abs().item()
print(complete_together, complete_apart)
