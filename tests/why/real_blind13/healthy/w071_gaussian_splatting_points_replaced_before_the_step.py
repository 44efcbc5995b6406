# https://github.com/graphdeco-inria/gaussian-splatting/issues/370
import torch
from torch import nn

torch.manual_seed(0)
SIDE = 24
axis = (torch.arange(SIDE) + 0.5) / SIDE
pixels = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 2)


def render(xyz, scaling, opacity):
    d2 = ((pixels[:, None] - xyz[None]) ** 2).sum(-1)
    return (opacity.T * torch.exp(-0.5 * d2 / scaling.T ** 2)).sum(1).view(SIDE, SIDE)


class GaussianModel:
    def __init__(self, n):
        self._xyz = nn.Parameter(torch.rand(n, 2))
        self._scaling = nn.Parameter(torch.full((n, 1), 0.06).log())
        self._opacity = nn.Parameter(torch.full((n, 1), -1.0))
        self.reset_stats()

    def reset_stats(self):
        self.xyz_gradient_accum = torch.zeros(len(self._xyz))
        self.denom = 0

    def training_setup(self):
        self.optimizer = torch.optim.Adam([{"params": [self._xyz], "lr": 5e-3, "name": "_xyz"},
                                           {"params": [self._scaling], "lr": 2e-2, "name": "_scaling"},
                                           {"params": [self._opacity], "lr": 5e-2, "name": "_opacity"}], eps=1e-15)

    def image(self):
        return render(self._xyz, self._scaling.exp(), torch.sigmoid(self._opacity))

    def add_densification_stats(self):
        self.xyz_gradient_accum += self._xyz.grad.norm(dim=-1)
        self.denom += 1

    def replace(self, change):
        """new parameters, with as much of Adam's memory as there was"""
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state.pop(old, None)
            new = nn.Parameter(change(group["name"], old.detach(), False))
            if state is not None:
                state["exp_avg"] = change(group["name"], state["exp_avg"], True)
                state["exp_avg_sq"] = change(group["name"], state["exp_avg_sq"], True)
                self.optimizer.state[new] = state
            group["params"][0] = new
            setattr(self, group["name"], new)

    def densify_and_prune(self, max_grad, min_opacity):
        grads = self.xyz_gradient_accum / self.denom
        chosen = grads > max_grad
        shift = 0.02 * torch.randn(int(chosen.sum()), 2)

        def clone(name, x, moment):
            extra = torch.zeros_like(x[chosen]) if moment else x[chosen] + (shift if name == "_xyz" else 0)
            return torch.cat([x, extra])
        self.replace(clone)
        keep = torch.sigmoid(self._opacity.detach()).squeeze(1) > min_opacity
        self.replace(lambda name, x, moment: x[keep])
        self.reset_stats()


# %%
with torch.no_grad():
    gt_image = render(torch.rand(25, 2), torch.full((25, 1), 0.05), torch.full((25, 1), 0.7))
gaussians = GaussianModel(12)
gaussians.training_setup()
losses, numbers = [], []

# %%
for iteration in range(1, 301):
    loss = (gaussians.image() - gt_image).abs().mean()
    loss.backward()
    losses.append(loss.item())
    with torch.no_grad():
        gaussians.add_densification_stats()
        if 50 <= iteration <= 200 and iteration % 50 == 0:
            gaussians.densify_and_prune(max_grad=0.01, min_opacity=0.02)
        gaussians.optimizer.step()
        gaussians.optimizer.zero_grad(set_to_none=True)
    numbers.append(len(gaussians._xyz))
print(losses[0], losses[-1], numbers[0], numbers[-1])
assert losses[-1] < 0.4 * losses[0] and numbers[-1] > numbers[0]
assert gaussians.optimizer.param_groups[0]["params"][0] is gaussians._xyz
