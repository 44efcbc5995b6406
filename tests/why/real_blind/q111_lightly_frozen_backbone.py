# https://github.com/lightly-ai/lightly/issues/1438
import copy

import torch
from torch import nn


def deactivate_requires_grad(model):
    for param in model.parameters():
        param.requires_grad = False


# %%
backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
backbone_momentum = copy.deepcopy(backbone)
deactivate_requires_grad(backbone_momentum)
before = backbone_momentum[1].running_var.clone()

# %%
for x in torch.randn(3, 16, 4):
    loss = (backbone(x) - backbone_momentum(x)).pow(2).mean()
print(torch.equal(before, backbone_momentum[1].running_var))
