import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Embedder:
    def __init__(self, n_freqs):
        self.freqs = 2.0 ** torch.linspace(0.0, n_freqs - 1, n_freqs)

    def __call__(self, x):
        out = [x]
        for f in self.freqs:
            out += [torch.sin(x * f), torch.cos(x * f)]
        return torch.cat(out, -1)


class NeRF(nn.Module):
    def __init__(self, D=4, W=32, input_ch=27, input_ch_views=15, skips=(2,)):
        super().__init__()
        self.skips, self.input_ch, self.input_ch_views = skips, input_ch, input_ch_views
        self.pts_linears = nn.ModuleList(
            [nn.Linear(input_ch, W)]
            + [nn.Linear(W + input_ch if i in skips else W, W) for i in range(D - 1)]
        )
        self.alpha_linear = nn.Linear(W, 1)
        self.feature_linear = nn.Linear(W, W)
        self.views_linears = nn.ModuleList([nn.Linear(input_ch_views + W, W // 2)])
        self.rgb_linear = nn.Linear(W // 2, 3)

    def forward(self, x):
        input_pts, input_views = torch.split(x, [self.input_ch, self.input_ch_views], dim=-1)
        h = input_pts
        for i, _ in enumerate(self.pts_linears):
            h = F.relu(self.pts_linears[i](h))
            if i in self.skips:
                h = torch.cat([input_pts, h], -1)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), input_views], -1)
        for layer in self.views_linears:
            h = F.relu(layer(h))
        return torch.cat([self.rgb_linear(h), alpha], -1)


def run_network(pts, viewdirs, fn):
    flat = pts.reshape(-1, 3)
    dirs = viewdirs[:, None].expand(pts.shape).reshape(-1, 3)
    embedded = torch.cat([embed_fn(flat), embeddirs_fn(dirs)], -1)
    return fn(embedded).reshape(*pts.shape[:-1], 4)


def raw2outputs(raw, z_vals, rays_d, raw_noise_std=1.0):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1)
    dists = dists * torch.norm(rays_d[..., None, :], dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    noise = torch.randn(raw[..., 3].shape) * raw_noise_std
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3] + noise) * dists)
    trans = torch.cumprod(torch.cat([torch.ones(alpha.shape[0], 1), 1.0 - alpha + 1e-10], -1), -1)[
        :, :-1
    ]
    weights = alpha * trans
    return torch.sum(weights[..., None] * rgb, -2), weights


def sample_pdf(bins, weights, n):
    weights = weights + 1e-5
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.rand(*cdf.shape[:-1], n).contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below, above = (inds - 1).clamp(min=0), inds.clamp(max=cdf.shape[-1] - 1)
    cdf0, cdf1 = torch.gather(cdf, -1, below), torch.gather(cdf, -1, above)
    bins0, bins1 = torch.gather(bins, -1, below), torch.gather(bins, -1, above)
    denom = torch.where(cdf1 - cdf0 < 1e-5, torch.ones_like(cdf0), cdf1 - cdf0)
    return bins0 + (u - cdf0) / denom * (bins1 - bins0)


def render_rays(rays_o, rays_d, n_samples=8, n_importance=8):
    viewdirs = rays_d / torch.norm(rays_d, dim=-1, keepdim=True)
    z_vals = torch.linspace(2.0, 6.0, n_samples).expand(rays_o.shape[0], n_samples)
    mids = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    upper = torch.cat([mids, z_vals[..., -1:]], -1)
    lower = torch.cat([z_vals[..., :1], mids], -1)
    z_vals = lower + (upper - lower) * torch.rand(z_vals.shape)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    raw = run_network(pts, viewdirs, model)
    rgb0, weights = raw2outputs(raw, z_vals, rays_d)

    z_mid = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    z_samples = sample_pdf(z_mid, weights[..., 1:-1], n_importance).detach()
    z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    raw = run_network(pts, viewdirs, model_fine)
    rgb, _ = raw2outputs(raw, z_vals, rays_d)
    return {"rgb_map": rgb, "rgb0": rgb0}


def img2mse(x, y):
    return torch.mean((x - y) ** 2)


embed_fn, embeddirs_fn = Embedder(4), Embedder(2)
model, model_fine = NeRF(), NeRF()
grad_vars = list(model.parameters())
grad_vars += list(model_fine.parameters())
optimizer = torch.optim.Adam(params=grad_vars, lr=5e-4, betas=(0.9, 0.999))
images = torch.rand(4, 16, 16, 3)
# %% the recorded cell
rays_o, rays_d = torch.zeros(32, 3), torch.randn(32, 3)
target_s = images[0].reshape(-1, 3)[torch.randint(0, 256, (32,))]
ret = render_rays(rays_o, rays_d)
optimizer.zero_grad()
img_loss = img2mse(ret["rgb_map"], target_s)
loss = img_loss
psnr = -10.0 * torch.log10(img_loss.detach())
img_loss0 = img2mse(ret["rgb0"], target_s)
loss = loss + img_loss0
loss.backward()
optimizer.step()
new_lrate = 5e-4 * (0.1 ** (1 / 1000))
for param_group in optimizer.param_groups:
    param_group["lr"] = new_lrate
