# https://discuss.pytorch.org/t/trying-to-find-an-angle-use-of-trigonometric-functions-optimizer-not-updating/26780
import torch
import torch.nn as nn

torch.manual_seed(0)
data = torch.rand(100, 3)
true_angle = torch.tensor(0.6)
c, s = torch.cos(true_angle), torch.sin(true_angle)
target = data @ torch.stack([c, s, 0 * c, -s, c, 0 * c, 0 * c, 0 * c, c / c]).view(3, 3)


# %%
class AngleModel(torch.nn.Module):
    def __init__(self):
        super(AngleModel, self).__init__()
        self.angle = nn.Parameter(torch.tensor(0.0, requires_grad = True))
        self.qw = torch.cos(self.angle / 2.)
        self.qx = torch.zeros(1)
        self.qy = torch.zeros(1)
        self.qz = torch.sin(self.angle / 2.)

    def forward(self, input):
        m11 = 1. - 2. * torch.pow(self.qy, 2) - 2. * torch.pow(self.qz, 2).requires_grad_()
        m22 = 1. - 2. * torch.pow(self.qx, 2) - 2. * torch.pow(self.qz, 2).requires_grad_()
        m33 = 1. - 2. * torch.pow(self.qx, 2) - 2. * torch.pow(self.qy, 2).requires_grad_()

        m21 = 2. * self.qx * self.qy - 2. * self.qz * self.qw
        m12 = 2. * self.qx * self.qy + 2. * self.qz * self.qw

        m31 = 2. * self.qx * self.qz + 2 * self.qy * self.qw
        m13 = 2. * self.qx * self.qz - 2 * self.qy * self.qw

        m32 = 2. * self.qy * self.qz - 2. * self.qx * self.qw
        m23 = 2. * self.qy * self.qz + 2. * self.qx * self.qw

        matrix = torch.Tensor([
            [m11, m21, m31],
            [m12, m22, m32],
            [m13, m23, m33],
        ])

        output = torch.matmul(input.float(), matrix.float())
        return output


# %%
model = AngleModel()
crit = torch.nn.MSELoss()
l_rate = 0.01
optim = torch.optim.SGD(model.parameters(), lr = l_rate)
epochs = 20

for epoch in range(epochs):
    optim.zero_grad()
    output = model(data)
    loss = crit(output, target).requires_grad_()
    loss.backward()
    optim.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), model.angle.item())
