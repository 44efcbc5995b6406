# https://stackoverflow.com/questions/69447539
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, xyt):
        return self.layers(xyt)


net = Net()
x = torch.rand(10, 1, requires_grad=True)
y = torch.rand(10, 1, requires_grad=True)
t = torch.rand(10, 1, requires_grad=True)

# %%
inputs = torch.cat([x, y, t], dim=1)
u = net(inputs)

# all right
du = torch.autograd.grad(u.sum(), inputs, create_graph=True)[0]
print(du.shape)

# the columns one by one: why None?
x_in, y_in, t_in = inputs[:, 0:1], inputs[:, 1:2], inputs[:, 2:3]
u_x = torch.autograd.grad(u.sum(), x_in, create_graph=True, allow_unused=True)[0]
u_t = torch.autograd.grad(u.sum(), t_in, create_graph=True, allow_unused=True)[0]
print(u_x, u_t)
