# https://github.com/keras-team/keras/issues/23075
import torch
import torch.nn as nn
import torch.nn.functional as F


def normalize(x, axis=-1, order=2, epsilon=1e-12):
    """keras.ops.normalize on the torch backend."""
    if 2 == order:
        # A special case: L2 normalization with `x * rsqrt(...)`
        # instead of `x / sqrt(...)`
        square_sum = torch.sum(torch.square(x), dim=axis, keepdim=True)
        inv_norm = torch.rsqrt(square_sum)
        inv_norm = torch.minimum(inv_norm, torch.tensor(1.0 / epsilon))
        return x * inv_norm
    norm = torch.linalg.vector_norm(x, ord=order, dim=axis, keepdim=True)
    denom = torch.maximum(norm, torch.tensor(epsilon))
    return x / denom


class UnitNormalization(nn.Module):
    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def forward(self, inputs):
        return normalize(inputs, axis=self.axis, order=2)


class TwoTower(nn.Module):
    """Retrieval model: users and items are compared by cosine similarity."""

    def __init__(self, n_features=6, dim=4):
        super().__init__()
        self.user = nn.Sequential(nn.Linear(n_features, 8, bias=False), nn.Tanh(), nn.Linear(8, dim, bias=False))
        self.item = nn.Embedding(10, dim)
        self.norm = UnitNormalization()

    def forward(self, x, item):
        return (self.norm(self.user(x)) * self.norm(self.item(item))).sum(-1)


# %%
torch.manual_seed(0)
model = TwoTower()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, item = torch.randn(32, 6), torch.randint(10, (32,))
x[5:8] = 0.  # users of whom nothing is known yet
y = torch.randint(2, (32,)).float()

# %%
out = model(x, item)
print('output finite:', torch.isfinite(out).all().item())
loss = F.binary_cross_entropy_with_logits(5 * out, y)
loss.backward()
print(loss.item(), model.user[0].weight.grad)
