# https://github.com/ultralytics/ultralytics/issues/5821
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.GroupNorm(2, 8)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.conv(x)
        # x = self.norm(x)
        # x = self.relu(x)
        return x


# %%
model = nn.Sequential(Block(), nn.Flatten(), nn.Linear(8 * 16, 2))
loss = model(torch.randn(2, 3, 6, 6)).pow(2).mean()
loss.backward()

# %%
print([name for name, p in model.named_parameters() if p.grad is None])
