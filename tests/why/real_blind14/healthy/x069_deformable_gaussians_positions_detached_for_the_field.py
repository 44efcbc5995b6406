# https://github.com/ingra14m/Deformable-3D-Gaussians/issues/80
import torch
import torch.nn as nn

torch.manual_seed(0)
SIZE = 20
ys, xs = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing='ij')
pixels = torch.stack([xs, ys], -1).view(-1, 2)


class GaussianModel:
    def __init__(self, n):
        self._xyz = nn.Parameter(0.6 * torch.randn(n, 2))
        self._scaling = nn.Parameter(torch.full((n, 1), -1.6))
        self._opacity = nn.Parameter(torch.zeros(n, 1))

    @property
    def get_xyz(self):
        return self._xyz

    def training_setup(self):
        self.optimizer = torch.optim.Adam([
            {'params': [self._xyz], 'lr': 5e-3, 'name': 'xyz'},
            {'params': [self._scaling], 'lr': 5e-3, 'name': 'scaling'},
            {'params': [self._opacity], 'lr': 2e-2, 'name': 'opacity'}], lr=0.0, eps=1e-15)


class DeformNetwork(nn.Module):
    def __init__(self, W=64):
        super().__init__()
        self.linear = nn.Sequential(nn.Linear(3, W), nn.ReLU(), nn.Linear(W, W), nn.ReLU())
        self.gaussian_warp = nn.Linear(W, 2)
        self.gaussian_scaling = nn.Linear(W, 1)
        for layer in (self.gaussian_warp, self.gaussian_scaling):
            nn.init.normal_(layer.weight, std=1e-3)
            nn.init.zeros_(layer.bias)

    def forward(self, x, t):
        h = self.linear(torch.cat([x, t], -1))
        return self.gaussian_warp(h), self.gaussian_scaling(h)


def render(pc, d_xyz, d_scaling):
    means = pc.get_xyz + d_xyz
    scales = torch.exp(pc._scaling) + d_scaling
    d2 = ((pixels.unsqueeze(1) - means) ** 2).sum(-1)
    alpha = torch.sigmoid(pc._opacity).t() * torch.exp(-0.5 * d2 / (scales.t() ** 2 + 1e-4))
    return 1 - torch.prod(1 - alpha.clamp(max=0.99), dim=1)


def photograph(t):
    """Two discs that go round."""
    angle = torch.tensor(3.1416 * t)
    c = 0.5 * torch.stack([angle.cos(), angle.sin()])
    d = torch.stack([(pixels - c).norm(dim=1), (pixels + c).norm(dim=1)]).min(0).values
    return torch.sigmoid((0.25 - d) * 30)


# %%
gaussians = GaussianModel(30)
gaussians.training_setup()
deform = DeformNetwork()
deform_optimizer = torch.optim.Adam(deform.parameters(), lr=2e-3, eps=1e-15)
times = [i / 9 for i in range(10)]
warm_up, losses = 40, []

# %%
for iteration in range(1, 401):
    fid = times[int(torch.randint(0, len(times), (1,)))]
    if iteration < warm_up:
        d_xyz, d_scaling = 0.0, torch.zeros(1)
    else:
        time_input = torch.full((len(gaussians.get_xyz), 1), fid)
        d_xyz, d_scaling = deform(gaussians.get_xyz.detach(), time_input)
    image = render(gaussians, d_xyz, d_scaling)
    loss = (image - photograph(fid)).abs().mean()
    loss.backward()
    with torch.no_grad():
        gaussians.optimizer.step()
        deform_optimizer.step()
        gaussians.optimizer.zero_grad(set_to_none=True)
        deform_optimizer.zero_grad()
    losses.append(loss.item())
print(sum(losses[:20]) / 20, sum(losses[-20:]) / 20)

# %%
d_xyz, d_scaling = deform(gaussians.get_xyz.detach(), torch.full((30, 1), 0.5))
render(gaussians, d_xyz, d_scaling).sum().backward()
assert gaussians._xyz.grad.abs().sum() > 0
assert all(p.grad is not None for p in deform.parameters())
assert sum(losses[-20:]) < 0.6 * sum(losses[:20])
