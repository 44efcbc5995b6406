# https://github.com/danieltan07/learning-to-reweight-examples/issues/6
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.autograd import Variable

torch.manual_seed(0)


def to_var(x, requires_grad=True):
    return Variable(x, requires_grad=requires_grad)


class MetaModule(nn.Module):
    def params(self):
        for name, param in self.named_params(self):
            yield param

    def named_leaves(self):
        return []

    def named_params(self, curr_module=None, memo=None, prefix=''):
        if memo is None:
            memo = set()
        if hasattr(curr_module, 'named_leaves'):
            leaves = curr_module.named_leaves()
        else:
            leaves = curr_module._parameters.items()
        for name, p in leaves:
            if p is not None and p not in memo:
                memo.add(p)
                yield prefix + ('.' if prefix else '') + name, p
        for mname, module in curr_module.named_children():
            submodule_prefix = prefix + ('.' if prefix else '') + mname
            for name, p in self.named_params(module, memo, submodule_prefix):
                yield name, p


class MetaLinear(MetaModule):
    def __init__(self, *args, **kwargs):
        super().__init__()
        ignore = nn.Linear(*args, **kwargs)
        self.register_buffer('weight', to_var(ignore.weight.data, requires_grad=True))
        self.register_buffer('bias', to_var(ignore.bias.data, requires_grad=True))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class MetaConv2d(MetaModule):
    def __init__(self, *args, **kwargs):
        super().__init__()
        ignore = nn.Conv2d(*args, **kwargs)
        self.stride, self.padding = ignore.stride, ignore.padding
        self.dilation, self.groups = ignore.dilation, ignore.groups
        self.register_buffer('weight', to_var(ignore.weight.data, requires_grad=True))
        self.register_buffer('bias', to_var(ignore.bias.data, requires_grad=True))

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class LeNet(MetaModule):
    def __init__(self, n_out):
        super(LeNet, self).__init__()
        layers = []
        layers.append(MetaConv2d(1, 6, kernel_size=5))
        layers.append(nn.ReLU(inplace=True))
        layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        layers.append(MetaConv2d(6, 16, kernel_size=5))
        layers.append(nn.ReLU(inplace=True))
        layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        layers.append(MetaConv2d(16, 120, kernel_size=5))
        layers.append(nn.ReLU(inplace=True))
        self.main = nn.Sequential(*layers)
        self.fc_layers = nn.Sequential(MetaLinear(120, 84), nn.ReLU(inplace=True), MetaLinear(84, n_out))

    def forward(self, x):
        x = self.main(x)
        return self.fc_layers(x.view(-1, 120)).squeeze()


# %%
args = argparse.Namespace(lr=1e-3, momentum=0.9, batch_size=8)
model = LeNet(n_out=1)
print(model(torch.randn(2, 1, 32, 32)).shape)

# %%
optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
for i in range(3):
    image, labels = torch.randn(args.batch_size, 1, 32, 32), torch.randint(0, 2, (args.batch_size,)).float()
    cost = F.binary_cross_entropy_with_logits(model(image), labels)
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
    print(i, cost.item())
