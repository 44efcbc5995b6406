# https://github.com/jvargasmu/population_estimation/issues/68
import torch
from torch import nn

scalenet = nn.Sequential(
    nn.Conv2d(4, 8, 1),
    nn.ReLU(),
    nn.Conv2d(8, 1, 1),
    nn.ReLU(),
)
nn.init.constant_(scalenet[2].bias, -5.0)
buildings, census = torch.rand(2, 4, 6, 6), torch.tensor([120.0, 80.0])

# %%
scale = scalenet(buildings)
pred = (scale[:, 0] * buildings[:, 0]).sum((1, 2))
loss = nn.functional.l1_loss(pred, census)

# %%
loss.backward()
print([p.grad.abs().max() for p in scalenet.parameters()])
