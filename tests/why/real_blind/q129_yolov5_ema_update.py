# https://github.com/ultralytics/yolov5/issues/5240
from copy import deepcopy

import torch
from torch import nn


class ModelEMA:
    def __init__(self, model, decay=0.9):
        self.ema = deepcopy(model).eval()
        self.updates = 0
        self.decay = lambda x: decay
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        # Update EMA parameters
        with torch.no_grad():
            self.updates += 1
            d = self.decay(self.updates)

            msd = model.state_dict()  # model state_dict
            for k, v in self.ema.state_dict().items():
                if v.dtype.is_floating_point:
                    v *= d
                    v += (1. - d) * msd[k].detach()


# %%
model = nn.Linear(3, 2)
ema = ModelEMA(model)
wanted = model.weight.detach().clone()
for _ in range(4):
    with torch.no_grad():
        model.weight += torch.randn(2, 3)
    ema.update(model)
    wanted = wanted * 0.9 + model.weight.detach() * 0.1

# %%
print((ema.ema.weight - wanted).abs().max())
