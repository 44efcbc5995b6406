# https://github.com/SuLvXiangXin/zipnerf-pytorch/issues/54
import torch
import torch.nn as nn

torch.manual_seed(0)


def contract_mean_std(x, std):
    eps = torch.finfo(x.dtype).eps
    x_mag_sq = torch.sum(x ** 2, dim=-1, keepdim=True).clamp_min(eps)
    x_mag_sqrt = torch.sqrt(x_mag_sq)
    mask = x_mag_sq <= 1
    z = torch.where(mask, x, ((2 * x_mag_sqrt - 1) / x_mag_sq) * x)
    x_mag_outside = torch.where(mask, torch.ones_like(x_mag_sqrt), x_mag_sqrt)
    det_13 = (torch.pow(2 * x_mag_outside - 1, 1 / 3) / x_mag_outside) ** 2
    std = torch.where(mask[..., 0], std, det_13[..., 0] * std)
    return z, std


def track_linearize(mean, std):
    pre_shape = mean.shape[:-1]
    mean, std = contract_mean_std(mean.reshape(-1, 3), std.reshape(-1))
    return mean.reshape(*pre_shape, 3), std.reshape(*pre_shape)


class PoseRefinement(nn.Module):
    def __init__(self, n_cameras):
        super().__init__()
        self.translation = nn.Parameter(torch.zeros(n_cameras, 3))
        self.log_scale = nn.Parameter(torch.zeros(n_cameras, 1))

    def forward(self, origins, directions, cameras):
        return origins + self.translation[cameras], directions * self.log_scale[cameras].exp()


class MLP(nn.Module):
    def __init__(self, levels=4, features=2):
        super().__init__()
        self.register_buffer("grid_sizes", 8.0 * 2 ** torch.arange(levels))
        self.encoder = nn.ModuleList([nn.Linear(3, features) for _ in range(levels)])
        self.density_layer = nn.Sequential(nn.Linear(levels * features, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, means, stds):
        means, stds = track_linearize(means, stds)
        features = torch.stack([torch.sin(g * layer(means)) for g, layer in zip(self.grid_sizes, self.encoder)], dim=-2)
        weights = torch.erf(1 / torch.sqrt(8 * stds[..., None] ** 2 * self.grid_sizes ** 2))
        return self.density_layer((features * weights[..., None]).flatten(-2))


def cast_rays(origins, directions, radii, n_samples=16, near=0.0, far=4.0):
    t = torch.linspace(near, far, n_samples)
    means = origins[:, None] + t[:, None] * directions[:, None]
    stds = radii * t * directions.norm(dim=-1, keepdim=True)
    return means, stds, t


def render(raw, t):
    density = nn.functional.softplus(raw[..., 0] - 1)
    delta = t[1] - t[0]
    alpha = 1 - torch.exp(-density * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], dim=1), dim=1)
    return ((alpha * trans)[..., None] * torch.sigmoid(raw[..., 1:])).sum(1)


# %%
n_rays, n_cameras = 128, 4
cameras = torch.randint(0, n_cameras, (n_rays,))
origins = 0.3 * torch.randn(n_cameras, 3)[cameras]
directions = nn.functional.normalize(torch.randn(n_rays, 3), dim=-1)
colors = torch.sigmoid(directions)

# %%
pose, mlp = PoseRefinement(n_cameras), MLP()
optimizer = torch.optim.Adam([*pose.parameters(), *mlp.parameters()], lr=1e-3)
losses = []
for step in range(5):
    o, d = pose(origins, directions, cameras)
    means, stds, t = cast_rays(o, d, radii=0.01)
    loss = ((render(mlp(means, stds), t) - colors) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses, pose.translation)
