# https://github.com/yenchenlin/nerf-pytorch/blob/master/run_nerf.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
img2mse = lambda x, y: torch.mean((x - y) ** 2)
mse2psnr = lambda x: -10.0 * torch.log(x) / torch.log(torch.Tensor([10.0]))


class NeRF(nn.Module):
    def __init__(self, W=16):
        super().__init__()
        self.pts_linears = nn.ModuleList([nn.Linear(18, W)] + [nn.Linear(W, W) for _ in range(2)])
        self.views_linears = nn.ModuleList([nn.Linear(W + 3, W // 2)])
        self.feature_linear, self.alpha_linear, self.rgb_linear = (
            nn.Linear(W, W),
            nn.Linear(W, 1),
            nn.Linear(W // 2, 3),
        )
        self.output_linear = nn.Linear(W, 4)
        self.use_viewdirs = True

    def forward(self, pts, views):
        h = torch.cat([f(pts * 2.0**i) for i in range(3) for f in (torch.sin, torch.cos)], -1)
        for l in self.pts_linears:
            h = F.relu(l(h))
        if not self.use_viewdirs:
            return self.output_linear(h)
        alpha = self.alpha_linear(h)
        h = torch.cat([self.feature_linear(h), views], -1)
        for l in self.views_linears:
            h = F.relu(l(h))
        return torch.cat([self.rgb_linear(h), alpha], -1)


def raw2outputs(raw, z_vals, raw_noise_std=1.0):
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = torch.cat([dists, torch.Tensor([1e10]).expand(dists[..., :1].shape)], -1)
    rgb = torch.sigmoid(raw[..., :3])
    noise = torch.randn(raw[..., 3].shape) * raw_noise_std
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3] + noise) * dists)
    weights = (
        alpha
        * torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[
            :, :-1
        ]
    )
    rgb_map = torch.sum(weights[..., None] * rgb, -2)
    depth_map = torch.sum(weights * z_vals, -1)
    disp_map = 1.0 / torch.max(
        1e-10 * torch.ones_like(depth_map), depth_map / torch.sum(weights, -1)
    )
    return rgb_map, disp_map, weights


def sample_pdf(bins, weights, N_samples):
    weights = weights + 1e-5
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cat([torch.zeros_like(pdf[..., :1]), torch.cumsum(pdf, -1)], -1)
    u = torch.rand(list(cdf.shape[:-1]) + [N_samples])
    inds = torch.searchsorted(cdf.detach(), u, right=True)
    below, above = torch.clamp(inds - 1, min=0), torch.clamp(inds, max=cdf.shape[-1] - 1)
    cdf_b, cdf_a = torch.gather(cdf, 1, below), torch.gather(cdf, 1, above)
    bins_b, bins_a = torch.gather(bins, 1, below), torch.gather(bins, 1, above)
    denom = cdf_a - cdf_b
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    return bins_b + (u - cdf_b) / denom * (bins_a - bins_b)


def render_rays(rays_o, rays_d, network_fn, network_fine, N_samples=6, N_importance=4):
    viewdirs = rays_d / torch.norm(rays_d, dim=-1, keepdim=True)
    z_vals = torch.linspace(2.0, 6.0, N_samples).expand(rays_o.shape[0], N_samples)
    pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
    raw = network_fn(pts, viewdirs[:, None].expand(pts.shape))
    rgb_map_0, disp_map_0, weights = raw2outputs(raw, z_vals)
    z_vals_mid = 0.5 * (z_vals[..., 1:] + z_vals[..., :-1])
    z_samples = sample_pdf(z_vals_mid, weights[..., 1:-1], N_importance)
    z_samples = z_samples.detach()
    z_vals, _ = torch.sort(torch.cat([z_vals, z_samples], -1), -1)
    pts = rays_o[:, None] + rays_d[:, None] * z_vals[..., None]
    raw = network_fine(pts, viewdirs[:, None].expand(pts.shape))
    rgb_map, disp_map, weights = raw2outputs(raw, z_vals)
    return {"rgb_map": rgb_map, "disp_map": disp_map, "rgb0": rgb_map_0, "disp0": disp_map_0}


model, model_fine = NeRF(), NeRF()
grad_vars = list(model.parameters()) + list(model_fine.parameters())
optimizer = torch.optim.Adam(params=grad_vars, lr=5e-4, betas=(0.9, 0.999))
before = model.pts_linears[0].weight.detach().clone()

# %%
for i in range(3):
    rays_o, rays_d, target_s = torch.randn(8, 3), torch.randn(8, 3), torch.rand(8, 3)
    extras = render_rays(rays_o, rays_d, model, model_fine)
    optimizer.zero_grad()
    img_loss = img2mse(extras["rgb_map"], target_s)
    loss = img_loss
    psnr = mse2psnr(img_loss)
    img_loss0 = img2mse(extras["rgb0"], target_s)
    loss = loss + img_loss0
    psnr0 = mse2psnr(img_loss0)
    loss.backward()
    optimizer.step()
    for param_group in optimizer.param_groups:
        param_group["lr"] = 5e-4 * (0.1 ** (i / 500))
    print(f"[TRAIN] Iter: {i} Loss: {loss.item()}  PSNR: {psnr.item()}")
