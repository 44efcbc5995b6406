# https://github.com/d2l-ai/d2l-en/pull/2600
import torch
from torch import nn
from torch.nn import functional as F


class MyLinear(nn.Module):
    def __init__(self, in_units, units):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_units, units))
        self.bias = nn.Parameter(torch.randn(units,))

    def forward(self, X):
        linear = torch.matmul(X, self.weight.data) + self.bias.data
        return F.relu(linear)


# %%
net = nn.Sequential(MyLinear(64, 8), nn.Linear(8, 1))
X = torch.rand(2, 64)

# %%
loss = net(X).sum()
loss.backward()
for name, param in net.named_parameters():
    print(name, param.grad is None)
