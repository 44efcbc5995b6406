# https://github.com/wuhuikai/DeepGuidedFilter/issues/7
import torch
import torch.nn.functional as F
from torch import nn


class GuidedFilter(nn.Module):
    def __init__(self, r, eps=1e-8):
        super().__init__()
        self.r, self.eps = r, eps

    def box(self, t):
        return F.avg_pool2d(t, 2 * self.r + 1, 1, self.r, count_include_pad=False)

    def forward(self, x, y):
        mean_x, mean_y = self.box(x), self.box(y)
        cov_xy = self.box(x * y) - mean_x * mean_y
        var_x = self.box(x * x) - mean_x * mean_x
        A = cov_xy / (var_x + self.eps)
        b = mean_y - A * mean_x
        return A * x + b


# %%
gf = GuidedFilter(1, eps=0)
x = torch.rand(1, 1, 8, 8)
x[..., :4] = 0.0  # a flat region
x.requires_grad_()
y = torch.rand(1, 1, 8, 8)

# %%
out = gf(x, y)
loss = torch.nan_to_num(out).pow(2).mean()
loss.backward()
print(loss, x.grad.isnan().sum())
