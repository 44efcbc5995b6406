# https://stackoverflow.com/questions/63772506
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.rx = nn.Parameter(torch.tensor(0.3))
        self.ry = nn.Parameter(torch.tensor(-0.2))
        self.rz = nn.Parameter(torch.tensor(0.1))
        self.bias = nn.Parameter(torch.zeros(2))

    def rotation(self):
        cx, sx = torch.cos(self.rx), torch.sin(self.rx)
        cy, sy = torch.cos(self.ry), torch.sin(self.ry)
        cz, sz = torch.cos(self.rz), torch.sin(self.rz)
        rotx = torch.tensor([[1., 0., 0.], [0., cx, -sx], [0., sx, cx]])
        roty = torch.tensor([[cy, 0., sy], [0., 1., 0.], [-sy, 0., cy]])
        rotz = torch.tensor([[cz, -sz, 0.], [sz, cz, 0.], [0., 0., 1.]])
        return rotz @ roty @ rotx

    def forward(self, x):
        homo = torch.cat([x, torch.ones(len(x), 1)], dim=1)
        y = homo @ self.rotation().t()
        return y[:, :2] / y[:, 2:] + self.bias


# %%
net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.01)
criterion = nn.MSELoss()
points, target = torch.rand(20, 2), torch.rand(20, 2)

# %%
for epoch in range(5):
    optimizer.zero_grad()
    output = net(points)
    loss = criterion(output, target)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), net.rx.grad, net.ry.grad, net.rz.grad)
