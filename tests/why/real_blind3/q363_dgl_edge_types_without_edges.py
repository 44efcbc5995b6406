# https://github.com/dmlc/dgl/issues/4282
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GatedGraphConv(nn.Module):
    """A linear layer for each type of edge, and a GRU."""

    def __init__(self, in_feats, out_feats, n_steps, n_etypes):
        super().__init__()
        self._out_feats, self._n_steps, self._n_etypes = out_feats, n_steps, n_etypes
        self.linears = nn.ModuleList([nn.Linear(out_feats, out_feats) for _ in range(n_etypes)])
        self.gru = nn.GRUCell(out_feats, out_feats)

    def forward(self, graph, feat, etypes):
        src, dst = graph
        if feat.shape[-1] < self._out_feats:
            feat = torch.cat([feat, feat.new_zeros(len(feat), self._out_feats - feat.shape[-1])], dim=-1)
        for _ in range(self._n_steps):
            a = torch.zeros_like(feat)
            for i in range(self._n_etypes):
                eids = (etypes == i).nonzero().view(-1)
                if len(eids) > 0:
                    a = a.index_add(0, dst[eids], self.linears[i](feat[src[eids]]))
            feat = self.gru(a, feat)
        return feat


class MyGGCN(torch.nn.Module):
    def __init__(self, in_feats, out_feats):
        super(MyGGCN, self).__init__()
        self.ggcn = GatedGraphConv(in_feats=in_feats, out_feats=out_feats, n_etypes=8, n_steps=2)

    def forward(self, g, feat, edge_types):
        return self.ggcn(g, feat, edge_types)


class MyModel(nn.Module):
    def __init__(self, emb_size=8):
        super().__init__()
        self.ggnn = MyGGCN(emb_size, emb_size)
        self.cnn = nn.Conv1d(emb_size, 10, 3)
        self.fc = nn.Linear(10, 2)

    def forward(self, g, feat, edge_types):
        X = self.ggnn(g, feat, edge_types)
        X = F.relu(self.cnn(X.t().unsqueeze(0)))
        return self.fc(X.max(dim=2)[0])


# %%
model = MyModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
g = (torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 0]))
edge_types = torch.tensor([0, 1, 2, 4, 6, 7, 0, 1, 2, 4])
feat, label = torch.randn(10, 8), torch.tensor([1])

# %%
for epoch in range(2):
    logits = model(g, feat, edge_types)
    loss = F.cross_entropy(logits, label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for name, parms in model.named_parameters():
        if parms.grad is None:
            print(name, "'s grad is None")
