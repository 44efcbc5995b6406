# https://github.com/bowang-lab/Transformer-GCN-QA/pull/32
import torch
from torch import nn

torch.manual_seed(0)

n_candidates, n_mentions, size, query_size = 8, 20, 16, 12


class RGCNLayer(nn.Module):
    def __init__(self, in_size, out_size, n_rels):
        super().__init__()
        self.relations = nn.ModuleList([nn.Linear(in_size, out_size, bias=False) for _ in range(n_rels)])
        self.root = nn.Linear(in_size, out_size)

    def forward(self, x, adjacency):
        messages = [relation(a @ x) for relation, a in zip(self.relations, adjacency)]
        return self.root(x) + sum(messages)


class TransformerGCNQA(nn.Module):
    def __init__(self, n_rgcn_layers=2, n_rels=2, rgcn_size=24):
        super().__init__()
        self.fc_1 = nn.Linear(size, rgcn_size)
        self.leaky_relu = nn.LeakyReLU()
        self.rgcn_layers = nn.ModuleList([RGCNLayer(rgcn_size, rgcn_size, n_rels) for _ in range(n_rgcn_layers)])
        self.fc_3 = nn.Linear(rgcn_size + query_size, 32)
        self.fc_4 = nn.Linear(32, 1)
        self.log_softmax = nn.LogSoftmax(dim=0)

    def forward(self, query, graph, candidate_indices, target=None):
        x, adjacency = graph
        x = self.leaky_relu(self.fc_1(x))
        for layer in self.rgcn_layers:
            x = self.leaky_relu(layer(x, adjacency))
        x = torch.cat((x, query.expand(len(x), -1)), dim=-1)
        logits = self.fc_4(self.leaky_relu(self.fc_3(x)))  # N x 1, where N = # of mentions

        # Compute the masked softmax based on available candidates
        masked_max = torch.zeros(len(candidate_indices))
        for i, idxs in enumerate(candidate_indices.values()):
            if idxs:
                masked_max[i] = torch.max(logits[idxs])

        masked_softmax = torch.exp(self.log_softmax(masked_max))

        # If target is provided compute loss, otherwise return `masked_softmax`
        if target is not None:
            loss_fct = nn.CrossEntropyLoss()
            class_index = torch.argmax(target, 1)
            loss = loss_fct(masked_softmax.view(-1, len(candidate_indices)), class_index)
            return masked_softmax, loss
        return masked_softmax


def question():
    owner = torch.randint(n_candidates, (n_mentions,))
    candidate_indices = {c: (owner == c).nonzero().flatten().tolist() for c in range(n_candidates)}
    answer = int(owner[0])
    x, query = torch.randn(n_mentions, size), torch.randn(1, query_size)
    x[owner == answer, 0] += 6
    adjacency = [(owner[:, None] == owner).float() / n_mentions, torch.eye(n_mentions)]
    target = torch.zeros(1, n_candidates)
    target[0, answer] = 1
    return query, (x, adjacency), candidate_indices, target


# %%
model = TransformerGCNQA()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = []
for epoch in range(250):
    query, graph, candidate_indices, target = question()
    optimizer.zero_grad()
    answer, loss = model(query, graph, candidate_indices, target)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:20]) / 20, sum(losses[-50:]) / 50)
