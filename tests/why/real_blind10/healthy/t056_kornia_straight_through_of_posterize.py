# https://github.com/kornia/kornia/pull/1666
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class STEFunction(torch.autograd.Function):
    """Straight-Through Estimation (STE) function."""
    @staticmethod
    def forward(ctx, input, output, grad_fn=None):
        ctx.in_shape = input.shape
        ctx.out_shape = output.shape
        ctx.grad_fn = grad_fn
        return output.clone()

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.grad_fn is None:
            return grad_output.sum_to_size(ctx.in_shape), grad_output.sum_to_size(ctx.out_shape), None
        return ctx.grad_fn(grad_output.sum_to_size(ctx.in_shape)), grad_output.sum_to_size(ctx.out_shape), None


class StraightThroughEstimator(nn.Module):
    def __init__(self, target_fn, grad_fn=None):
        super().__init__()
        self.target_fn, self.grad_fn = target_fn, grad_fn

    def forward(self, input):
        return STEFunction.apply(input, self.target_fn(input), self.grad_fn)


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor([0.7, 1.0, 1.2]).view(3, 1, 1))
        self.offset = nn.Parameter(torch.zeros(3, 1, 1))

    def forward(self, img):
        return torch.sigmoid(self.gain * (img * 4 - 2) + self.offset)


def posterize(img, bits=3):
    with torch.no_grad():
        return torch.floor(img * 2 ** bits) / 2 ** bits


# %%
aug = nn.Sequential(Affine(), StraightThroughEstimator(posterize, grad_fn=F.hardtanh))
optimizer = torch.optim.Adam(aug.parameters(), lr=0.05)
img, target = torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8) * 0.5

for _ in range(10):
    optimizer.zero_grad()
    loss = F.mse_loss(aug(img), target)
    loss.backward()
    optimizer.step()
print(loss.item(), aug[0].gain.grad.flatten())
