# https://github.com/pytorch/pytorch/issues/4896
import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


def vgg16_withoutfc():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(inplace=True),
        nn.Flatten())


# %%
input = torch.rand(1, 3, 8, 8, requires_grad=True)
w = torch.rand(1, 64)
net = vgg16_withoutfc()
output = net(input)
jacob = grad(output, input, grad_outputs=w, create_graph=True)[0]
y = grad(jacob.sum(), input, create_graph=True)[0]
print(y.abs().max())
