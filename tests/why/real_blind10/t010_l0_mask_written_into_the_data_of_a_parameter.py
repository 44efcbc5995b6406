# https://github.com/moskomule/l0.pytorch/issues/3
import math

import torch
from torch import nn
from torch.autograd import Variable
from torch.nn import functional as F

torch.manual_seed(0)


def hard_sigmoid(x):
    return torch.min(torch.max(x, torch.zeros_like(x)), torch.ones_like(x))


class _L0Norm(nn.Module):
    def __init__(self, origin, loc_mean=0, loc_sdev=0.01, beta=2 / 3, gamma=-0.1, zeta=1.1, fix_temp=True):
        super(_L0Norm, self).__init__()
        self._origin = origin
        self._size = self._origin.weight.size()
        self.loc = nn.Parameter(torch.zeros(self._size).normal_(loc_mean, loc_sdev))
        self.temp = beta if fix_temp else nn.Parameter(torch.zeros(1).fill_(beta))
        self.register_buffer("uniform", torch.zeros(self._size))
        self.gamma = gamma
        self.zeta = zeta
        self.gamma_zeta_ratio = math.log(-gamma / zeta)
        self.mask = nn.Parameter(torch.zeros(self._size), requires_grad=False)

    def _get_mask(self):
        if self.training:
            self.uniform.uniform_()
            u = Variable(self.uniform)
            s = torch.sigmoid((torch.log(u) - torch.log(1 - u) + self.loc) / self.temp)
            s = s * (self.zeta - self.gamma) + self.gamma
            penalty = torch.sigmoid(self.loc - self.temp * self.gamma_zeta_ratio).sum()
        else:
            s = torch.sigmoid(self.loc) * (self.zeta - self.gamma) + self.gamma
            penalty = 0
        self.mask.data = hard_sigmoid(s)
        return self.mask, penalty


class L0Linear(_L0Norm):
    def __init__(self, in_features, out_features, bias=True, **kwargs):
        super(L0Linear, self).__init__(nn.Linear(in_features, out_features, bias=bias), **kwargs)

    def forward(self, input):
        mask, penalty = self._get_mask()
        return F.linear(input, self._origin.weight * mask, self._origin.bias), penalty


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = L0Linear(16, 30), L0Linear(30, 4)

    def forward(self, x):
        x, p1 = self.fc1(x)
        x, p2 = self.fc2(F.relu(x))
        return x, p1 + p2


# %%
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
target = torch.randint(0, 4, (64,))
data = torch.randn(64, 16) + target[:, None]
weight_decay = 1e-5

for _ in range(10):
    optimizer.zero_grad()
    output, penalty = model(data)
    xent = F.cross_entropy(output, target)
    loss = xent + weight_decay * penalty
    loss.backward()
    optimizer.step()
print(xent.item(), model.fc1.loc.grad.abs().max())
