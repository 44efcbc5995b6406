# https://github.com/facebookresearch/XLM/issues/148
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HashingMemoryFlat(nn.Module):
    def __init__(self, input_dim, output_dim, size=64, k_dim=8, knn=4):
        super().__init__()
        self.knn = knn
        self.keys = nn.Parameter(torch.randn(size, k_dim) / k_dim ** 0.5)
        self.values = nn.EmbeddingBag(size, output_dim, mode='sum')
        self.query_proj = nn.Linear(input_dim, k_dim)

    def _get_indices(self, query):
        # find the nearest neighbours, without gradient
        with torch.no_grad():
            scores = F.linear(query, self.keys)
            _, indices = scores.topk(self.knn, dim=1, largest=True, sorted=True)
        # the scores of those, with gradient
        scores = (self.keys[indices] * query.unsqueeze(1)).sum(2)
        return scores, indices

    def forward(self, input):
        query = self.query_proj(input)
        scores, indices = self._get_indices(query)
        scores = F.softmax(scores, dim=-1)
        return self.values(indices, per_sample_weights=scores)


# %%
memory = HashingMemoryFlat(10, 10)
out_layer = nn.Linear(10, 5)
optimizer = torch.optim.Adam([*memory.parameters(), *out_layer.parameters()], lr=2.5e-3)
before = memory.keys.detach().clone()

# %%
for step in range(3):
    x, y = torch.randn(16, 10), torch.randint(0, 5, (16,))
    loss = F.cross_entropy(out_layer(x + memory(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), (memory.keys.grad.abs().sum(1) > 0).sum().item())
