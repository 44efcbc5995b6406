# https://github.com/minfenli/refnerf-pl/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RefNeRFMLP(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, hidden), nn.Softplus(beta=10), nn.Linear(hidden, hidden), nn.Softplus(beta=10))
        self.density_layer = nn.Linear(hidden, 1)
        self.normal_layer = nn.Linear(hidden, 3)
        self.rgb_layer = nn.Sequential(nn.Linear(hidden + 3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, means, viewdirs):
        with torch.set_grad_enabled(True):
            means.requires_grad_(True)
            x = self.trunk(means)
            raw_density = self.density_layer(x)[..., 0]
            # one call gives the gradient of each density with respect to its own point
            raw_grad = torch.autograd.grad(raw_density.sum(), means, create_graph=True)[0]
        normals = -F.normalize(raw_grad, dim=-1)
        normals_pred = -F.normalize(self.normal_layer(x), dim=-1)
        rgb = torch.sigmoid(self.rgb_layer(torch.cat([x, viewdirs[:, None].expand_as(means)], -1)))[..., 0]
        return F.softplus(raw_density - 1), rgb, normals, normals_pred


def volume_weights(density, t_vals):
    delta = t_vals[1:] - t_vals[:-1]
    alpha = 1 - torch.exp(-density[:, :-1] * delta)
    transmittance = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    return alpha * transmittance


def draw_rays(n=64):
    origins = F.normalize(torch.randn(n, 3), dim=1) * 2
    viewdirs = F.normalize(0.8 * torch.rand(n, 3) - 0.4 - origins, dim=1)
    # a ball of radius 0.7 that is brighter above
    b = (origins * viewdirs).sum(1)
    disc = b ** 2 - (origins ** 2).sum(1) + 0.49
    hit = origins + (-b - disc.clamp(min=0).sqrt()).unsqueeze(1) * viewdirs
    color = torch.where(disc > 0, 0.6 + 0.5 * hit[:, 2], torch.zeros(n))
    return origins, viewdirs, color


# %%
model = RefNeRFMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
t_vals = torch.linspace(0.8, 3.2, 33)
history = []

# %%
for step in range(150):
    origins, viewdirs, color = draw_rays()
    means = origins[:, None] + t_vals[None, :, None] * viewdirs[:, None]
    density, rgb, normals, normals_pred = model(means, viewdirs)
    weights = volume_weights(density, t_vals)
    rendered = (weights * rgb[:, :-1]).sum(1)
    data_loss = ((rendered - color) ** 2).mean()
    predicted = (weights * (1 - (normals * normals_pred).sum(-1)[:, :-1])).sum(1).mean()
    facing = (weights * (normals_pred * viewdirs[:, None]).sum(-1)[:, :-1].clamp(min=0) ** 2).sum(1).mean()
    loss = data_loss + 0.01 * predicted + 0.01 * facing
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(data_loss.item())
print(history[0], history[-1])

# %%
points = torch.randn(5, 1, 3)
_, _, normals, _ = model(points, torch.zeros(5, 3))
one_by_one = torch.stack([torch.autograd.functional.jacobian(lambda p: model.density_layer(model.trunk(p)).squeeze(), p[0].detach()) for p in points])
assert torch.allclose(normals[:, 0], -F.normalize(one_by_one, dim=-1), atol=1e-5)
assert all(p.grad is not None for p in model.parameters())
assert sum(history[-10:]) < 0.4 * sum(history[:10])
