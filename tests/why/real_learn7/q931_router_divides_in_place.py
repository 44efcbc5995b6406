# https://github.com/databricks/megablocks/pull/70
import torch
import torch.nn as nn

torch.manual_seed(0)


class LearnedRouter(nn.Module):
    def __init__(self, hidden_size=16, num_experts=4, top_k=2, normalize=1.0):
        super().__init__()
        self.layer = nn.Linear(hidden_size, num_experts, bias=False)
        self.top_k, self.normalize = top_k, normalize

    def forward(self, x):
        scores = self.layer(x).softmax(dim=-1)
        expert_weights, expert_indices = torch.topk(scores, self.top_k, dim=-1)
        if self.normalize:
            expert_weights = expert_weights * 2.0
            expert_weights /= torch.norm(expert_weights, p=self.normalize, dim=-1, keepdim=True)
        return scores, expert_weights, expert_indices


# %%
router = LearnedRouter()
value = nn.Linear(16, 4)

# %%
x = torch.randn(32, 16)
scores, expert_weights, expert_indices = router(x)
out = (value(x).gather(1, expert_indices) * expert_weights).sum(-1)
loss = out.pow(2).mean()
loss.backward()
