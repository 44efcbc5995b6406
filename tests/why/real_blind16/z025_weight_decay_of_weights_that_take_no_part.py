# https://discuss.pytorch.org/t/how-do-i-dynamically-swich-on-off-weight-decay/89270
import torch
from torch import nn
from torch import optim

torch.manual_seed(0)

# parameter
weight = nn.Parameter(torch.ones((64, 64, 3, 3)))
bias = nn.Parameter(torch.ones((64)))
before = weight.detach().clone()
print("before weight_decay:", weight[32, 32, :, :].detach().numpy())

# build optimizer
optimizer = optim.SGD([weight, bias], lr=1e-2, weight_decay=1e-2)  # large wd for demo

# %%
for step in range(5):
    optimizer.zero_grad()

    # cropped from parameter (weight/bias)
    # weight[32, 32, :, :] is not involved in the forward computation
    weight_ = weight[:32, :32, :, :]
    bias_ = bias[:32]

    # one training step
    x = torch.rand((1, 32, 14, 14))
    y = nn.functional.conv2d(x, weight_, bias_, stride=1, padding=1, dilation=1, groups=1)
    l = y.mean()
    l.backward()
    optimizer.step()

# this part shall not be penalized by weight_decay, it is not used for the computation
print("after weight_decay:", weight[32, 32, :, :].detach().numpy())
