# https://github.com/bmild/nerf/issues/55
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NEAR, FAR = 0.0, 4.0


class NeRF(nn.Module):
    def __init__(self, hidden=64, freqs=4):
        super().__init__()
        self.freqs = freqs
        self.pts_linears = nn.Sequential(nn.Linear(2 + 4 * freqs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.alpha_linear = nn.Linear(hidden, 1)
        self.rgb_linear = nn.Linear(hidden, 3)

    def forward(self, pts):
        waves = [f(2.0**k * pts) for k in range(self.freqs) for f in (torch.sin, torch.cos)]
        h = self.pts_linears(torch.cat([pts, *waves], -1))
        return torch.sigmoid(self.rgb_linear(h)), F.softplus(self.alpha_linear(h)).squeeze(-1)


def raw2outputs(rgb, sigma, z_vals):
    dists = torch.cat([z_vals[..., 1:] - z_vals[..., :-1], torch.full_like(z_vals[..., :1], 0.2)], -1)
    alpha = 1 - torch.exp(-sigma * dists)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(-2), weights


def sample_pdf(bins, weights, n_samples):
    weights = weights + 1e-5
    pdf = weights / weights.sum(-1, keepdim=True)
    cdf = torch.cat([torch.zeros_like(pdf[:, :1]), pdf.cumsum(-1)], -1)
    u = torch.rand(len(bins), n_samples)
    inds = torch.searchsorted(cdf.contiguous(), u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[-1] - 1)
    c0, c1 = cdf.gather(1, below), cdf.gather(1, above)
    b0, b1 = bins.gather(1, below), bins.gather(1, above)
    return b0 + (u - c0) / (c1 - c0).clamp(min=1e-5) * (b1 - b0)


def render_rays(rays_o, rays_d, coarse, fine, n_samples=16, n_importance=16):
    z_vals = torch.linspace(NEAR, FAR, n_samples).expand(len(rays_o), n_samples)
    z_vals = z_vals + torch.rand_like(z_vals) * (FAR - NEAR) / n_samples
    rgb0, weights = raw2outputs(*coarse(rays_o[:, None] + rays_d[:, None] * z_vals[..., None]), z_vals)
    z_mid = 0.5 * (z_vals[:, 1:] + z_vals[:, :-1])
    z_samples = sample_pdf(z_mid, weights[:, 1:-1], n_importance).detach()
    z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    rgb, _ = raw2outputs(*fine(rays_o[:, None] + rays_d[:, None] * z_vals[..., None]), z_vals)
    return rgb0, rgb, z_samples


def rays(n):
    """A flat world with one disc, red on its left and blue on its right, before a white wall."""
    height = torch.rand(n) * 3 - 1.5
    side = torch.randint(0, 2, (n,)).float() * 2 - 1
    rays_o = torch.stack([-2 * side, height], 1)
    rays_d = torch.stack([side, torch.zeros(n)], 1)
    red, blue, white = torch.tensor([1.0, 0, 0]), torch.tensor([0, 0, 1.0]), torch.zeros(3)
    seen = torch.where((side > 0)[:, None], red, blue)
    return rays_o, rays_d, torch.where((height.abs() < 0.8)[:, None], seen, white)


# %%
coarse, fine = NeRF(), NeRF()
optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-3)
losses = []
for step in range(160):
    rays_o, rays_d, target = rays(96)
    rgb0, rgb, z_samples = render_rays(rays_o, rays_d, coarse, fine)
    img_loss, img_loss0 = F.mse_loss(rgb, target), F.mse_loss(rgb0, target)
    loss = img_loss + img_loss0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append((img_loss0.item(), img_loss.item()))

# %%
rays_o, rays_d, target = rays(256)
rgb0, rgb, z_samples = render_rays(rays_o, rays_d, coarse, fine)
img_loss = F.mse_loss(rgb, target)
to_coarse = torch.autograd.grad(img_loss, list(coarse.parameters()), allow_unused=True)
print(losses[0], losses[-1])
assert all(g is None for g in to_coarse)
assert all(last < 0.25 * first for first, last in zip(losses[0], losses[-1]))
assert not z_samples.requires_grad
