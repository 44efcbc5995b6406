# https://github.com/pykeen/pykeen/issues/571
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CompGCNLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w_fwd, self.w_loop, self.w_rel = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x_e, x_r, edge_index, edge_type):
        source, target = edge_index
        message = self.w_fwd(x_e[source] * x_r[edge_type])
        gathered = torch.zeros_like(x_e).index_add(0, target, message)
        return torch.tanh(gathered + self.w_loop(x_e)), self.w_rel(x_r)


class CombinedCompGCNRepresentations(nn.Module):
    def __init__(self, triples, num_entities, num_relations, dim=8):
        super().__init__()
        self.entity_representations = nn.Parameter(torch.randn(num_entities, dim))
        self.relation_representations = nn.Parameter(torch.randn(num_relations, dim))
        self.layers = nn.ModuleList([CompGCNLayer(dim), CompGCNLayer(dim)])
        self.register_buffer("edge_index", triples[:, [0, 2]].t())
        self.register_buffer("edge_type", triples[:, 1])
        # buffer of enriched representations
        self.enriched_representations = None

    def post_parameter_update(self):
        # invalidate enriched embeddings
        self.enriched_representations = None

    def forward(self):
        """Compute enriched representations."""
        if self.enriched_representations is None:
            x_e, x_r = self.entity_representations, self.relation_representations
            for layer in self.layers:
                x_e, x_r = layer(x_e, x_r, self.edge_index, self.edge_type)
            self.enriched_representations = (x_e, x_r)
        return self.enriched_representations


class CompGCN(nn.Module):
    def __init__(self, triples, num_entities, num_relations):
        super().__init__()
        self.representations = CombinedCompGCNRepresentations(triples, num_entities, num_relations)

    def score_hrt(self, hrt):
        x_e, x_r = self.representations()
        return (x_e[hrt[:, 0]] * x_r[hrt[:, 1]] * x_e[hrt[:, 2]]).sum(dim=1)


def evaluate(model, triples):
    model.eval()
    with torch.no_grad():
        return (model.score_hrt(triples) > 0).float().mean().item()


triples = torch.stack([torch.randint(0, n, (60,)) for n in (12, 3, 12)], dim=1)

# %%
model = CompGCN(triples, 12, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.train()
    for batch in triples.split(20):
        optimizer.zero_grad()
        corrupted = torch.cat([batch[:, :2], torch.randint(0, 12, (len(batch), 1))], dim=1)
        loss = F.margin_ranking_loss(model.score_hrt(batch), model.score_hrt(corrupted), torch.ones(len(batch)), margin=1.0)
        loss.backward()
        optimizer.step()
        model.representations.post_parameter_update()
    print(epoch, loss.item(), "stopper:", evaluate(model, triples))
