# https://github.com/joe-siyuan-qiao/WeightStandardization/blob/master/README.md
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)


class Conv2d(nn.Conv2d):

    def __init__(self, in_channels, out_channels, kernel_size, stride=1,
                 padding=0, dilation=1, groups=1, bias=True):
        super(Conv2d, self).__init__(in_channels, out_channels, kernel_size, stride,
                 padding, dilation, groups, bias)

    def forward(self, x):
        weight = self.weight
        weight_mean = weight.mean(dim=1, keepdim=True).mean(dim=2,
                                  keepdim=True).mean(dim=3, keepdim=True)
        weight = weight - weight_mean
        std = weight.view(weight.size(0), -1).std(dim=1).view(-1, 1, 1, 1) + 1e-5
        weight = weight / std.expand_as(weight)
        return F.conv2d(x, weight, self.bias, self.stride,
                        self.padding, self.dilation, self.groups)


# %%
model = nn.Sequential(Conv2d(3, 8, 3, bias=False), nn.GroupNorm(2, 8), nn.ReLU(inplace=True),
                      nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
images, target = torch.rand(8, 3, 10, 10), torch.randint(0, 4, (8,))

# %%
for epoch in range(3):
    loss = F.cross_entropy(model(images), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
