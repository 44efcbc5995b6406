# https://github.com/eeric/pytorch-LBCNN/issues/1
import torch
import torch.nn as nn


class LBC(nn.Conv2d):
    def __init__(self, in_channels, out_channels, kernel_size=3, sparsity=0.5):
        super().__init__(in_channels, out_channels, kernel_size, padding=1, bias=False)
        weights = (torch.rand_like(self.weight) < sparsity).float() * 2 - 1
        weights.requires_grad = False
        self.weight = nn.Parameter(weights)


# %%
lbc = nn.Sequential(LBC(3, 8), nn.ReLU(), nn.Conv2d(8, 2, 1))
out = lbc(torch.randn(2, 3, 6, 6))
out.pow(2).mean().backward()

# %%
print(lbc[0].weight.requires_grad, lbc[0].weight.grad is None)
