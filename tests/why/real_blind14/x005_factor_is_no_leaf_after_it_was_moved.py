# https://blog.csdn.net/weixin_43751558/article/details/124036310
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
device, dtype = "cpu", torch.float64


class WeightedFeatures(nn.Module):
    def __init__(self, num, classes):
        super().__init__()
        factor = torch.ones(num, requires_grad=True)
        self.factor = torch.nn.Parameter(factor).to(device, dtype)
        self.fc = nn.Linear(num, classes).to(device, dtype)

    def forward(self, x):
        return self.fc(x * self.factor)


def make_data(n=64):
    x = torch.randn(n, 8, dtype=dtype)
    return x, (x[:, 0] > x[:, 1]).long()


# %%
model = WeightedFeatures(num=8, classes=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = make_data()
for epoch in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), model.factor.grad)
