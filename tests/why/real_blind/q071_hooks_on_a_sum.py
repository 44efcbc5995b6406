# https://github.com/pytorch/pytorch/issues/60456
import torch
import torch.nn as nn

alpha = 1
channels = 8
grads = {}


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()

        self.b1 = nn.Sequential(torch.nn.ReLU())
        self.b2 = nn.Sequential(torch.nn.ReLU())

    def forward(self, x):
        x.register_hook(lambda g: grads.__setitem__('IN', g))
        b1 = self.b1(x)
        b1.register_hook(lambda g: grads.__setitem__('B1', g))
        b2 = self.b2(x)
        b2.register_hook(lambda g: grads.__setitem__('B2', g))
        out = b1 + (alpha * b2)
        out.register_hook(lambda g: grads.__setitem__('OUT', g))
        return out


# %%
net = Net()
x = torch.randn(2, channels, 4, 4, requires_grad=True)
out = net(x)
loss = nn.MSELoss()(out, torch.randn(2, channels, 4, 4))
loss.backward()

# %%
for name, g in grads.items():
    print(f"[{name}]  V = {g.var()}, M = {g.mean()}")
