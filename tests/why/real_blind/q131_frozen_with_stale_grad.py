# https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740
from collections.abc import Iterable

import torch
import torch.nn as nn


class Wrapped(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module.fc2(self.module.fc1(x))


net = nn.Module()
net.fc1 = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
net.fc2 = nn.Linear(8, 2)
model = Wrapped(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def training(model):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        optimizer.step()


# %%
# how I freeze the layer
def set_freeze_by_layer_names(model, layer_names, freeze=True):
    if isinstance(layer_names, str) or not isinstance(layer_names, Iterable):
        layer_names = [layer_names]
    for name, child in model.module.named_children():
        if name not in layer_names:
            continue
        print("set freeze for layer {} as: {}".format(name, freeze))
        for param in child.parameters():
            param.requires_grad = not freeze


# %%
# how I check the parameters
training(model)
set_freeze_by_layer_names(model, 'fc1', freeze=True)
before_train = model.module.fc1[0].weight.detach().clone()
training(model)
after_train = model.module.fc1[0].weight.detach().clone()
print(before_train[0], after_train[0])
