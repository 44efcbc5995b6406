# https://github.com/locuslab/deq/issues/23
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class WeightNorm:
    """weight = g * v / |v|, computed when asked for: all iterations of the solver share one weight."""

    def __init__(self, name):
        self.name = name

    @staticmethod
    def norm(v):
        return v.flatten(1).norm(dim=1).view(-1, *[1] * (v.dim() - 1))

    @classmethod
    def apply(cls, module, name):
        fn = cls(name)
        weight = module._parameters.pop(name)
        module.register_parameter(name + '_g', nn.Parameter(cls.norm(weight.detach())))
        module.register_parameter(name + '_v', nn.Parameter(weight.detach().clone()))
        fn.reset(module)
        return fn

    def reset(self, module):
        g, v = getattr(module, self.name + '_g'), getattr(module, self.name + '_v')
        setattr(module, self.name, v * (g / self.norm(v)))


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.gn1 = nn.GroupNorm(4, planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.gn2 = nn.GroupNorm(4, planes)
        self._wnorm()

    def _wnorm(self):
        self.conv1_fn = WeightNorm.apply(self.conv1, 'weight')
        self.conv2_fn = WeightNorm.apply(self.conv2, 'weight')

    def _reset(self):
        self.conv1_fn.reset(self.conv1)
        self.conv2_fn.reset(self.conv2)

    def forward(self, z, injection):
        out = F.relu(self.gn1(self.conv1(z)))
        return F.relu(self.gn2(self.conv2(out) + injection) + z)


class MDEQClsNet(nn.Module):
    def __init__(self, planes=16, num_classes=10, f_thres=8):
        super(MDEQClsNet, self).__init__()
        self.stem = nn.Conv2d(3, planes, 3, padding=1)
        self.block = BasicBlock(planes)
        self.classifier = nn.Linear(planes, num_classes)
        self.f_thres = f_thres

    def forward(self, x):
        self.block._reset()
        u = self.stem(x)
        z = torch.zeros_like(u)
        for _ in range(self.f_thres):
            z = self.block(z, u)
        return self.classifier(z.mean((2, 3)))


# %%
model = MDEQClsNet().float()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.randint(0, 10, (4,)))
    loss.backward()
    optimizer.step()

# %%
duplicate = copy.deepcopy(model)
print(duplicate(torch.randn(1, 3, 8, 8)).shape)
