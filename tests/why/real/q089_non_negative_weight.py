# https://github.com/pytorch/pytorch/issues/97452
import torch
import torch.nn as nn
import torch.nn.functional as F


class NonNegative(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -0.1, 0.3]))

    def forward(self, x):
        return x @ F.relu(self.w)


model = NonNegative()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.rand(20, 3)
y = x @ torch.tensor([0.2, 0.9, 0.4])

# %%
for _ in range(50):
    opt.zero_grad()
    F.mse_loss(model(x), y).backward()
    opt.step()

# %%
print(model.w, model.w.grad)
