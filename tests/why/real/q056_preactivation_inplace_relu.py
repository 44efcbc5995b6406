# https://github.com/pytorch/vision/issues/807
import torch
import torch.nn as nn


class BasicBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 4, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        identity = x
        out = self.relu(self.conv1(x))
        out = self.conv2(out)
        out = self.relu(out)
        out += identity
        return out


# %%
block = BasicBlock()
out = block(torch.randn(2, 4, 6, 6))
loss = out.mean()

# %%
loss.backward()
