# https://github.com/dmlc/dgl/issues/4285
import torch
import torch.nn as nn

torch.manual_seed(0)
n_nodes, n_edges, hidden = 10, 24, 32
device = torch.device("cpu")


class GraphTransformerLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.Q, self.K, self.V = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.proj_e = nn.Linear(dim, dim)
        self.O = nn.Linear(dim, dim)

    def forward(self, g, h, e):
        src, dst = g["edges"]
        score = (self.K(h)[src] * self.Q(h)[dst] * self.proj_e(e)).sum(1, keepdim=True) / h.shape[1] ** 0.5
        score = torch.exp(score.clamp(-5, 5))
        wV = torch.zeros_like(h).index_add(0, dst, self.V(h)[src] * score)
        z = torch.zeros(len(h), 1).index_add(0, dst, score)
        return torch.relu(h + self.O(wV / (z + 1e-6)))


class GraphTransformerNet(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embedding_h = nn.Linear(4, hidden)
        self.embedding_e = nn.Linear(2, hidden)
        self.embedding_lap_pos_enc = nn.Linear(3, hidden)
        self.layers = nn.ModuleList(GraphTransformerLayer(hidden) for _ in range(layers))
        self.out = nn.Linear(hidden, 1)

    def forward(self, g, h, e, h_lap_pos_enc):
        h = h + self.embedding_lap_pos_enc(h_lap_pos_enc)
        for conv in self.layers:
            h = conv(g, h, e)
        return self.out(h)


# %%
g_dgl = {"edges": torch.randint(0, n_nodes, (2, n_edges)), "lap_pos_enc": torch.randn(n_nodes, 3)}
node_feat, edge_feat = torch.randn(n_nodes, 4), torch.randn(n_edges, 2)
node_label = torch.randn(1, n_nodes, 1)
model = GraphTransformerNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

h = model.embedding_h(node_feat)
e = model.embedding_e(edge_feat)

# %%
criteria = nn.MSELoss()
for n in range(3):
    lp_pe = g_dgl["lap_pos_enc"].to(device)
    out = model(g_dgl, h, e, lp_pe)
    loss = criteria(node_label[0], out)
    print(f"epoch #{n}, loss:{loss}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
