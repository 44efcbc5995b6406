# https://github.com/YutaroOgawa/pytorch_advanced/issues/160
import torch
import torch.nn as nn

input = torch.tensor([[[[1.0, 1.0], [2.0, 2.0]]]])

# %%
m = nn.Conv2d(1, 1, 2, stride=1, bias=False)
m.weight[0, 0, 0, 0] = 1
m.weight[0, 0, 0, 1] = 2
m.weight[0, 0, 1, 0] = 3
m.weight[0, 0, 1, 1] = 4
print(m(input))
