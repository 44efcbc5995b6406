# https://discuss.pytorch.org/t/freezing-intermediate-layers-while-training-top-and-bottom-layers/39776/3
import torch
from torch import nn

L1, L2, L3 = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)
for param in L2.parameters():
    param.requires_grad = False

# %%
x, target = torch.randn(5, 4), torch.randn(5, 2)
y = L3(torch.relu(L2(torch.relu(L1(x)))))
loss = nn.functional.mse_loss(y, target)
loss.backward()

# %%
for name, layer in (('L1', L1), ('L2', L2), ('L3', L3)):
    print(name, layer.weight.grad is None)
