# https://github.com/deel-ai/deel-torchlip/issues/19
from copy import deepcopy

import torch
import torch.nn as nn

torch.manual_seed(0)


class SpectralNormHook:
    """Computes the weight from weight_orig before each call."""

    def __init__(self, n_iterations=5):
        self.n_iterations = n_iterations

    def compute_weight(self, layer):
        weight = layer.weight_orig
        with torch.no_grad():
            u = layer.u
            for _ in range(self.n_iterations):
                v = nn.functional.normalize(weight.T @ u, dim=0)
                u = nn.functional.normalize(weight @ v, dim=0)
            layer.u.copy_(u)
        return weight / (u @ weight @ v)

    def __call__(self, layer, inputs):
        layer.weight = self.compute_weight(layer)


class SpectralLinear(nn.Linear):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__(in_features, out_features, bias)
        weight = self.weight
        del self._parameters["weight"]
        self.register_parameter("weight_orig", nn.Parameter(weight.data))
        self.register_buffer("u", torch.randn(out_features))
        self.weight = weight.data
        self.register_forward_pre_hook(SpectralNormHook())


def make_model():
    return nn.Sequential(SpectralLinear(4, 16), nn.ReLU(), SpectralLinear(16, 1))


# %%
model = make_model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(64, 4)
y = x.norm(dim=1, keepdim=True)
best_loss, best_model = float("inf"), None

# %%
for epoch in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best_loss:
        best_loss = loss.item()
        best_model = deepcopy(model)
print(best_loss)
