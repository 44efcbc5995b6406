# https://github.com/thuml/Transfer-Learning-Library/issues/112
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ScaleGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, coeff):
        ctx.coeff = coeff
        return x * 1.0

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.coeff, None


class WarmStartGradientLayer(nn.Module):
    """From lo to hi; the sign stays, since the labels are swapped in the loss."""

    def __init__(self, alpha=1.0, lo=0.0, hi=1.0, max_iters=200):
        super().__init__()
        self.alpha, self.lo, self.hi, self.max_iters = alpha, lo, hi, max_iters
        self.iter_num = 0

    def forward(self, x):
        ramp = 2.0 / (1.0 + np.exp(-self.alpha * self.iter_num / self.max_iters)) - 1
        self.iter_num += 1
        return ScaleGradient.apply(x, float(self.lo + (self.hi - self.lo) * ramp))


def extractor():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 8))


def set_requires_grad(net, requires_grad):
    for p in net.parameters():
        p.requires_grad = requires_grad


def draw(n, shift):
    y = torch.randint(0, 2, (n,))
    x = torch.stack([y * 3.0 - 1.5, torch.zeros(n)], 1) + 0.5 * torch.randn(n, 2)
    return x + torch.tensor(shift), y


source_shift, target_shift = [0.0, 0.0], [1.6, 1.5]
source_model, head = extractor(), nn.Linear(8, 2)
pretrain = torch.optim.Adam([*source_model.parameters(), *head.parameters()], lr=0.01)
for _ in range(150):
    x, y = draw(64, source_shift)
    pretrain.zero_grad()
    F.cross_entropy(head(source_model(x)), y).backward()
    pretrain.step()

# %%
target_model = copy.deepcopy(source_model)
set_requires_grad(source_model, False)
set_requires_grad(head, False)
discriminator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
gl = WarmStartGradientLayer(alpha=10.0)
optimizer = torch.optim.Adam(target_model.parameters(), lr=1e-3)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=5e-3)
x_test, y_test = draw(1000, target_shift)
with torch.no_grad():
    before = (head(target_model(x_test)).argmax(1) == y_test).float().mean().item()

# %%
for i in range(300):
    x_s, _ = draw(128, source_shift)
    x_t, _ = draw(128, target_shift)
    f_s, f_t = source_model(x_s), target_model(x_t)
    set_requires_grad(discriminator, True)
    optimizer_d.zero_grad()
    real, fake = discriminator(f_s), discriminator(f_t.detach())
    loss_d = F.binary_cross_entropy_with_logits(real, torch.ones_like(real)) + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
    loss_d.backward()
    optimizer_d.step()
    set_requires_grad(discriminator, False)
    optimizer.zero_grad()
    d = discriminator(gl(f_t))
    loss_t = F.binary_cross_entropy_with_logits(d, torch.ones_like(d))
    loss_t.backward()
    optimizer.step()

# %%
with torch.no_grad():
    after = (head(target_model(x_test)).argmax(1) == y_test).float().mean().item()
print(before, after)
assert all(p.grad is not None for p in target_model.parameters())
assert after > before + 0.1
