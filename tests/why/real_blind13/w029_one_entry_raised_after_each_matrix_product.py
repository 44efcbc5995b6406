# https://www.yongfengli.tk/2018/04/13/inplace-operation-in-pytorch.html
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    """Sums the products of its matrix with a vector whose entries are raised one by one."""

    def __init__(self):
        super(Net, self).__init__()
        self.first = nn.Parameter(0.1 * torch.randn(10, 10))
        self.param = nn.Parameter(0.1 * torch.randn(10, 10))

    def forward(self, a):
        y = 0
        b = torch.mm(self.first, a)
        for i in range(10):
            b[i] = b[i] + 1  # inplace operation
            y = y + torch.mm(self.param, b)
        return y


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
a, target = torch.randn(10, 1), torch.ones(10, 1)
y = net(a)

# %%
for step in range(3):
    y = net(a)
    loss = ((y - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
