# https://github.com/hbb1/2d-gaussian-splatting/issues/43
import torch
import torch.nn as nn

torch.manual_seed(0)
H = W = 12


def splat(means2D, colors, opacities, scales):
    ys, xs = torch.meshgrid(torch.arange(H) + 0.5, torch.arange(W) + 0.5, indexing="ij")
    pixels = torch.stack([xs, ys], dim=-1).view(-1, 1, 2)
    d = (pixels - means2D) / (scales * W)
    weights = opacities.view(1, -1) * torch.exp(-0.5 * d.pow(2).sum(-1))
    return (weights @ colors).view(H, W, 3)


class _RasterizeGaussians(torch.autograd.Function):
    @staticmethod
    def forward(ctx, means2D, colors_precomp, opacities, scales):
        # the kernel reads two scales of each surfel
        color = splat(means2D, colors_precomp, opacities, scales[:, :2])
        ctx.save_for_backward(means2D, colors_precomp, opacities, scales)
        return color

    @staticmethod
    def backward(ctx, grad_out_color):
        means2D, colors_precomp, opacities, scales = ctx.saved_tensors
        grad_scales = torch.zeros(scales.shape[0], 2)
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_() for t in (means2D, colors_precomp, opacities, scales[:, :2])]
            color = splat(*leaves)
        grad_means2D, grad_colors, grad_opacities, g = torch.autograd.grad(color, leaves, grad_out_color)
        grad_scales += g
        return grad_means2D, grad_colors, grad_opacities, grad_scales


class GaussianModel:
    def __init__(self, n=30):
        self._xyz = nn.Parameter(torch.rand(n, 2) * W)
        self._features_dc = nn.Parameter(torch.rand(n, 3))
        self._opacity = nn.Parameter(torch.full((n, 1), -2.0))
        self._scaling = nn.Parameter(torch.full((n, 3), -1.5))

    @property
    def get_scaling(self):
        return torch.exp(self._scaling)

    @property
    def get_opacity(self):
        return torch.sigmoid(self._opacity)

    def training_setup(self):
        l = [{'params': [self._xyz], 'lr': 0.1, "name": "xyz"}, {'params': [self._features_dc], 'lr': 0.01, "name": "f_dc"},
             {'params': [self._opacity], 'lr': 0.05, "name": "opacity"}, {'params': [self._scaling], 'lr': 0.005, "name": "scaling"}]
        self.optimizer = torch.optim.Adam(l, lr=0.0, eps=1e-15)


def render(pc: GaussianModel, bg_color):
    rendered_image = _RasterizeGaussians.apply(pc._xyz, pc._features_dc.sigmoid(), pc.get_opacity, pc.get_scaling)
    return {"render": rendered_image + bg_color}


# %%
gaussians = GaussianModel()
gaussians.training_setup()
gt_image = torch.rand(H, W, 3)
background = torch.zeros(3)
for iteration in range(1, 4):
    render_pkg = render(gaussians, background)
    image = render_pkg["render"]
    loss = torch.abs(image - gt_image).mean()
    loss.backward()
    gaussians.optimizer.step()
    gaussians.optimizer.zero_grad(set_to_none=True)
    print(iteration, loss.item())
