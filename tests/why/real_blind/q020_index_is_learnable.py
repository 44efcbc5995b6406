# https://github.com/pytorch/pytorch/issues/44944
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(10, 4))
        self.where = nn.Parameter(torch.tensor([2.3, 5.7, 7.1]), requires_grad=True)
        self.fc = nn.Linear(4, 1)

    def forward(self):
        rows = self.table[self.where.long()]
        return self.fc(rows)


# %%
net = Net()
loss = net().pow(2).mean()
loss.backward()
print(net.where.is_leaf, net.where.requires_grad)

# %%
print(net.where.grad)
