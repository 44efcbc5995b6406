# https://github.com/lukemelas/EfficientNet-PyTorch/blob/master/efficientnet_pytorch/utils.py
import torch
from torch import nn

torch.manual_seed(0)


# A memory-efficient implementation of Swish function
class SwishImplementation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_tensors[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishImplementation.apply(x)


def drop_connect(inputs, p, training):
    if not training:
        return inputs
    keep_prob = 1 - p
    random_tensor = keep_prob + torch.rand([inputs.shape[0], 1, 1, 1])
    binary_tensor = torch.floor(random_tensor)
    return inputs / keep_prob * binary_tensor


class MBConvBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self._expand_conv, self._bn0 = nn.Conv2d(c, 2 * c, 1, bias=False), nn.BatchNorm2d(2 * c)
        self._project_conv, self._bn2 = nn.Conv2d(2 * c, c, 1, bias=False), nn.BatchNorm2d(c)
        self._swish = MemoryEfficientSwish()

    def forward(self, inputs):
        x = self._swish(self._bn0(self._expand_conv(inputs)))
        x = self._bn2(self._project_conv(x))
        return drop_connect(x, 0.3, self.training) + inputs


# %%
model = nn.Sequential(nn.Conv2d(3, 4, 3), MBConvBlock(4), MBConvBlock(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

# %%
for i in range(3):
    images, target = torch.randn(8, 3, 8, 8), torch.randint(0, 5, (8,))
    loss = nn.functional.cross_entropy(model(images), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
