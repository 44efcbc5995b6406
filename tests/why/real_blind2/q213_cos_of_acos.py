# https://discuss.pytorch.org/t/nan-gradient-for-torch-cos-torch-acos/9617
import torch
import torch.nn as nn
import torch.nn.functional as F


class AngleLinear(nn.Module):
    """y_ij = ||x_i|| * cos(2 <x_i, w_j>)"""

    def __init__(self, in_features, out_features):
        super(AngleLinear, self).__init__()
        self.weight = nn.Parameter(torch.Tensor(in_features, out_features))
        self.weight.data.uniform_(-1, 1)

    def forward(self, x):
        w = self.weight
        xlen = x.pow(2).sum(1).pow(0.5).view(-1, 1)  # ||x||
        wlen = w.pow(2).sum(0).pow(0.5).view(1, -1)  # ||w||
        cos_theta = (x.mm(w) / xlen / wlen).clamp(-1, 1)
        theta = cos_theta.acos()
        cos_2_theta = torch.cos(2 * theta)
        y = cos_2_theta * xlen.view(-1, 1)
        return y


# %%
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(6, 8)
        self.fc2 = nn.Linear(8, 2)
        self.angle = AngleLinear(2, 3)

    def forward(self, x):
        x = self.fc2(F.relu(self.fc1(x)))
        return self.angle(x)


# %%
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
inputs, labels = torch.randn(64, 6), torch.randint(3, (64,))

losses = []
for iteration in range(400):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(inputs), labels)
    loss.backward()
    losses.append(loss.item())
    if torch.isnan(net.angle.weight.grad).any():
        print('nan at iteration', iteration)
        break
    optimizer.step()
