# https://github.com/YanaiEliyahu/AdasOptimizer/issues/2
import torch
from torch import nn


class Adas(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        self.dimensions = [p.dim() for p in params]
        super().__init__(params, {'lr': lr})


model = nn.Linear(4, 2)

# %%
params = filter(lambda p: p.requires_grad, model.parameters())

# %%
optimizer = Adas(params, lr=0.1)
