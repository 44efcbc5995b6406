# https://github.com/lucidrains/deep-cross-attention/issues/2
import torch
from torch import nn
from torch.nn import Linear


class GRN(nn.Module):
    def __init__(self, dim, num_layers, num_outputs=1):
        super().__init__()
        linear = Linear(dim, num_outputs, bias=False)
        nn.init.zeros_(linear.weight)

        self.to_aggregate = nn.Sequential(
            nn.LayerNorm(dim),
            linear,
            nn.ReLU(),
        )

    def forward(self, tokens_across_depth):
        aggregate = self.to_aggregate(tokens_across_depth).movedim(-1, 0)[..., None]
        aggregated = (tokens_across_depth * aggregate).sum(1)
        return aggregated + tokens_across_depth[-1]


# %%
grn = GRN(8, 3)
out = grn(torch.randn(3, 4, 8))
out.pow(2).mean().backward()

# %%
print(grn.to_aggregate[1].weight.grad)
