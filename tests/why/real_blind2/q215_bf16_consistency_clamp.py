# https://github.com/fastino-ai/GLiNER2/pull/155
import torch
from torch import nn


def marginal_pair_consistency_loss(pair_logits, indices, valid_mask, start_logits, end_logits, boundary_keep):
    """Match boundary marginals to candidate-level noisy-OR probabilities."""
    probabilities = torch.sigmoid(pair_logits) * valid_mask.to(pair_logits.dtype)
    log_survival = torch.log1p(-probabilities.clamp(max=1.0 - 1e-6))
    b, q, n = start_logits.shape

    def accumulate(index):
        total = torch.zeros(b, q, n, dtype=log_survival.dtype, device=log_survival.device)
        total.scatter_add_(2, index, log_survival)
        count = torch.zeros_like(total)
        count.scatter_add_(2, index, valid_mask.to(total.dtype))
        return 1.0 - torch.exp(total), count > 0

    result = pair_logits.new_zeros(())
    for side, marginal in ((0, start_logits), (1, end_logits)):
        predicted, reached = accumulate(indices[..., side])
        keep = reached & boundary_keep
        squared = (predicted - torch.sigmoid(marginal)).square()
        result = result + torch.where(keep, squared, torch.zeros_like(squared)).sum() / keep.sum().clamp_min(1)
    return result


# %%
class BoundaryHead(nn.Module):
    def __init__(self, hidden, n_queries):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(n_queries, hidden))
        self.start = nn.Linear(hidden, hidden)
        self.end = nn.Linear(hidden, hidden)
        self.pair_scorer = nn.Bilinear(hidden, hidden, n_queries)

    def forward(self, states, indices):
        start_logits = torch.einsum('bnh,qh->bqn', self.start(states), self.queries)
        end_logits = torch.einsum('bnh,qh->bqn', self.end(states), self.queries)
        rows = torch.arange(states.shape[0])[:, None, None]
        left, right = states[rows, indices[..., 0]], states[rows, indices[..., 1]]
        scores = self.pair_scorer(left, right)
        pair_logits = torch.diagonal(scores, dim1=1, dim2=3).transpose(1, 2)
        return pair_logits, start_logits, end_logits


class BoundaryModel(nn.Module):
    def __init__(self, vocabulary_size=40, hidden=16, n_queries=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(vocabulary_size, hidden), nn.Linear(hidden, hidden), nn.LayerNorm(hidden))
        self.head = BoundaryHead(hidden, n_queries)

    def forward(self, tokens, indices):
        return self.head(self.encoder(tokens), indices)


# %%
model = BoundaryModel()
nn.init.normal_(model.head.pair_scorer.weight)  # a freshly initialised submodule
model = model.to(torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
consistency_loss_weight = 0.1

tokens = torch.randint(40, (2, 10))
indices = torch.sort(torch.randint(10, (2, 3, 6, 2)), dim=-1).values
labels = torch.randint(2, (2, 3, 6)).to(torch.bfloat16)
valid_mask = torch.rand(2, 3, 6) > 0.2
boundary_keep = torch.ones(2, 3, 10, dtype=torch.bool)

# %%
optimizer.zero_grad()
pair_logits, start_logits, end_logits = model(tokens, indices)
pair_loss = nn.functional.binary_cross_entropy_with_logits(pair_logits[valid_mask], labels[valid_mask])
consistency = marginal_pair_consistency_loss(
    pair_logits, indices, valid_mask, start_logits, end_logits, boundary_keep)
loss = pair_loss + consistency_loss_weight * consistency
loss.backward()
print('loss', loss.item())

# %%
bad = [name for name, p in model.named_parameters() if not torch.isfinite(p.grad).all()]
print(len(bad), 'parameters with non-finite gradients:', bad)
