# https://github.com/pytorch/pytorch/issues/102245
import torch
from torch import nn
import torch.nn.utils.prune as prune

torch.manual_seed(0)


class LeNet(nn.Module):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 2, 3)
        self.conv2 = nn.Conv2d(2, 1, 3)
    def forward(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        return x

model = LeNet()
prune.random_unstructured(model.conv1, name="weight", amount=0.3)

# %%
lossfn = nn.L1Loss()

x = torch.ones(1,24,24, requires_grad = True)
z = torch.ones(1,20,20)
y = model(x)
loss = lossfn(z, y)
loss.backward()

grad = model.conv1.weight.grad
print(grad)
print(model.conv2.weight.grad)
