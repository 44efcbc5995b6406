# https://github.com/shivram1987/AdaNorm/issues/1
import math

import torch
from torch import linalg as LA
from torch import nn
from torch.optim.optimizer import Optimizer

torch.manual_seed(0)


class diffGradNorm(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                    state["previous_grad"] = torch.zeros_like(p)
                    state["exp_grad_norm"] = 0
                exp_avg, exp_avg_sq, previous_grad = state["exp_avg"], state["exp_avg_sq"], state["previous_grad"]
                beta1, beta2 = group["betas"]
                state["step"] += 1

                # Gradient Norm Correction
                grad_norm = LA.norm(grad)
                exp_grad_norm = 0.95 * state["exp_grad_norm"] + 0.05 * grad_norm
                if exp_grad_norm > grad_norm:
                    grad1 = grad * exp_grad_norm / grad_norm
                else:
                    grad1 = grad
                state["exp_grad_norm"] = exp_grad_norm.clone()

                exp_avg.mul_(beta1).add_(grad1, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                denom = exp_avg_sq.sqrt().add_(group["eps"])
                bias_correction1 = 1 - beta1 ** state["step"]
                bias_correction2 = 1 - beta2 ** state["step"]

                # diffgrad coefficient
                dfc = 1.0 / (1.0 + torch.exp(-(previous_grad - grad).abs()))
                state["previous_grad"] = grad.clone()
                step_size = group["lr"] * math.sqrt(bias_correction2) / bias_correction1
                p.addcdiv_(exp_avg * dfc, denom, value=-step_size)


class PartsNet(nn.Module):
    """Keypoints of an image; those that are not seen take no part in the loss."""

    def __init__(self, features=16, parts=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(32, 2) for _ in range(parts)])

    def forward(self, x):
        h = self.body(x)
        return torch.stack([head(h) for head in self.heads], dim=1)


def batch(n=8, parts=5):
    x = torch.randn(n, 16)
    seen = (torch.rand(n, parts, 1) < 0.3).float()
    return x, x[:, :10].view(n, parts, 2), seen


# %%
model = PartsNet()
optimizer = diffGradNorm(model.parameters(), lr=1e-3)
for i in range(150):
    x, keypoints, seen = batch()
    loss = (((model(x) - keypoints) ** 2) * seen).sum() / seen.sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 25 == 0:
        print(i, loss.item())
