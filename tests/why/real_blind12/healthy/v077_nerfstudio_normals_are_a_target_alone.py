# https://github.com/nerfstudio-project/nerfstudio/issues/1083
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.mlp_base = nn.Sequential(nn.Linear(3, width), nn.Softplus(beta=10), nn.Linear(width, width),
                                      nn.Softplus(beta=10))
        self.density_head = nn.Linear(width, 1)
        self.mlp_head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())
        self.mlp_pred_normals = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 3), nn.Tanh())
        self._sample_locations = None
        self._density_before_activation = None

    def get_density(self, positions):
        self._sample_locations = positions
        if not self._sample_locations.requires_grad:
            self._sample_locations.requires_grad = True
        h = self.mlp_base(positions)
        density_before_activation = self.density_head(h)
        self._density_before_activation = density_before_activation
        return F.softplus(density_before_activation), h

    def get_normals(self):
        assert self._sample_locations is not None and self._density_before_activation is not None
        normals = torch.autograd.grad(
            self._density_before_activation,
            self._sample_locations,
            grad_outputs=torch.ones_like(self._density_before_activation),
            retain_graph=True,
        )[0]
        return -F.normalize(normals, dim=-1)

    def forward(self, positions):
        density, embedding = self.get_density(positions)
        return {"density": density, "rgb": self.mlp_head(embedding), "normals": self.get_normals(),
                "pred_normals": F.normalize(self.mlp_pred_normals(embedding), dim=-1)}


def render(outputs, step):
    alphas = 1 - torch.exp(-step * outputs["density"])
    transmittance = torch.cumprod(torch.cat([torch.ones_like(alphas[:, :1]), 1 - alphas[:, :-1] + 1e-7], 1), 1)
    weights = alphas * transmittance
    return (weights * outputs["rgb"]).sum(1), weights


def pred_normal_loss(weights, normals, pred_normals):
    return (weights[..., 0] * (1.0 - torch.sum(normals * pred_normals, dim=-1))).sum(dim=-1)


# %%
field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
steps = torch.linspace(0, 2, 16)
metrics = []

# %%
for iteration in range(120):
    # rays along z; a ball in the middle, its color depends on where it is hit
    xy = 2 * torch.rand(48, 2) - 1
    hit = (xy.norm(dim=1, keepdim=True) < 0.7).float()
    image = hit * torch.cat([0.5 + 0.5 * xy, torch.full_like(xy[:, :1], 0.8)], 1)
    positions = torch.cat([xy[:, None].expand(-1, 16, -1), (steps - 1)[None, :, None].expand(48, -1, 1)], -1).clone()
    outputs = field(positions)
    rgb, weights = render(outputs, 2 / 16 * 4)
    loss_dict = {"rgb_loss": F.mse_loss(rgb, image)}
    loss_dict["pred_normal_loss"] = 1e-2 * pred_normal_loss(
        weights.detach(), outputs["normals"].detach(), outputs["pred_normals"]).mean()
    loss = sum(loss_dict.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metrics.append((loss_dict["rgb_loss"].item(), loss_dict["pred_normal_loss"].item()))
print(metrics[0], metrics[-1])
assert metrics[-1][0] < 0.5 * metrics[0][0]
assert metrics[-1][1] < 0.8 * metrics[0][1]
assert not outputs["normals"].requires_grad
assert all(p.grad is not None for p in field.parameters())
