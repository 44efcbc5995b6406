# https://github.com/pytorch/examples/issues/277
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

checkpoint = {"conv1.weight": torch.randn(10, 25), "conv1.bias": torch.zeros(10)}


class Decomp_Net(nn.Module):
    def __init__(self, params):
        super(Decomp_Net, self).__init__()

        # Conv Layer 1
        self.W_conv1 = params["conv1.weight"].view(10, 1, 5, 5)
        self.B_conv1 = params["conv1.bias"]

    def forward(self, x):
        return F.conv2d(x, self.W_conv1, self.B_conv1).mean((2, 3))


# %%
model = Decomp_Net(checkpoint)
print(model(torch.randn(2, 1, 8, 8)).shape)

# %%
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
