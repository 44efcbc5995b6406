# https://github.com/nerfstudio-project/gsplat/issues/390
import torch

torch.manual_seed(0)


def fully_fused_projection(means, viewmat, K):
    """World to camera to pixels."""
    camera = means @ viewmat[:3, :3].T + viewmat[:3, 3]
    depths = camera[:, 2]
    pixels = camera @ K.T
    return pixels[:, :2] / pixels[:, 2:], depths


def rasterization(means, quats, scales, opacities, colors, viewmat, K, width, height, absgrad=False):
    means2d, depths = fully_fused_projection(means, viewmat, K)
    ys, xs = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    pixels = torch.stack([xs, ys], dim=-1).view(-1, 1, 2)
    sigma = scales.mean(-1).exp() * K[0, 0] / depths
    weights = opacities.sigmoid() * torch.exp(-(pixels - means2d).pow(2).sum(-1) / (2 * sigma**2 + 1e-6))
    alpha = 1 - torch.prod(1 - weights, dim=-1, keepdim=True)
    render_colors = (weights @ colors.sigmoid()).view(height, width, 3)
    meta = {"means2d": means2d, "depths": depths, "radii": 3 * sigma.detach(), "width": width, "height": height}
    return render_colors, alpha.view(height, width, 1), meta


def create_splats_with_optimizers(n=20, lr=1e-2):
    params = [("means", torch.nn.Parameter(torch.rand(n, 3) * 2 - 1), lr), ("scales", torch.nn.Parameter(torch.full((n, 3), -2.0)), lr),
              ("quats", torch.nn.Parameter(torch.rand(n, 4)), lr), ("opacities", torch.nn.Parameter(torch.zeros(n)), lr),
              ("colors", torch.nn.Parameter(torch.rand(n, 3)), lr)]
    splats = torch.nn.ParameterDict({n: v for n, v, _ in params})
    optimizers = {name: torch.optim.Adam([{"params": splats[name], "lr": lr, "name": name}]) for name, _, lr in params}
    return splats, optimizers


# %%
splats, optimizers = create_splats_with_optimizers()
viewmat = torch.eye(4)
viewmat[2, 3] = 4.0
K = torch.tensor([[20.0, 0.0, 8.0], [0.0, 20.0, 8.0], [0.0, 0.0, 1.0]])
pixels = torch.rand(16, 16, 3)
grad2d = torch.zeros(20)

for step in range(3):
    colors, alphas, info = rasterization(**splats, viewmat=viewmat, K=K, width=16, height=16, absgrad=False)
    loss = (colors - pixels).abs().mean()
    loss.backward()

    # running statistics for the densification
    grads = info["means2d"].grad
    if grads is not None:
        grad2d += grads.norm(dim=-1)
    print(step, loss.item(), grads)

    for optimizer in optimizers.values():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
