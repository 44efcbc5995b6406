# https://github.com/cfzd/FcaNet/issues/29
import torch
from torch import nn

channel, height, width = 4, 7, 7


class MultiSpectralDCTLayer(nn.Module):
    def __init__(self, height, width, channel):
        super().__init__()
        # learnable random init
        self.register_parameter('weight', torch.rand(channel, height, width))

    def forward(self, x):
        return torch.sum(x * self.weight, dim=[2, 3])


# %%
layer = MultiSpectralDCTLayer(height, width, channel)
