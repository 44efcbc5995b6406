# https://github.com/YU1ut/openset-DA/issues/8
import torch
import torch.nn as nn

torch.manual_seed(0)


class Dense_Block(nn.Module):
    def __init__(self, in_features, out_features):
        super(Dense_Block, self).__init__()
        self.fc = nn.Linear(in_features, out_features)
        self.relu = torch.nn.LeakyReLU()
        self.bn = nn.BatchNorm1d(out_features)

    def forward(self, x):
        return self.bn(self.relu(self.fc(x)))


class GradReverse(torch.autograd.Function):
    def __init__(self, lambd):
        self.lambd = lambd

    def forward(self, x):
        return x.view_as(x)

    def backward(self, grad_output):
        return (grad_output * -self.lambd)


def grad_reverse(x, lambd=1.0):
    return GradReverse(lambd).apply(x)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.generator = nn.Sequential(Dense_Block(20, 16), Dense_Block(16, 16))
        self.classifier = nn.Linear(16, 6)

    def forward(self, x, constant = 1, adaption = False):
        x = self.generator(x)
        if adaption == True:
            x = grad_reverse(x, constant)
        x = self.classifier(x)
        return x


# %%
net = Net()
data = torch.randn(8, 20)

# %%
output = net(data, constant=0.5, adaption=True)
loss = nn.functional.binary_cross_entropy(output.softmax(1)[:, -1], torch.full((8,), 0.5))
loss.backward()
