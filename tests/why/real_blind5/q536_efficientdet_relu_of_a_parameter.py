# https://github.com/zylo117/Yet-Another-EfficientDet-Pytorch/issues/503
import torch
import torch.nn as nn

torch.manual_seed(0)


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class Fusefeature(nn.Module):
    # replace concat with fusefeature
    def __init__(self, e=1e-4):  # concat, nums_input, epsilon, dimension
        super(Fusefeature, self).__init__()
        self.e = e
        self.weight = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.weight_relu = nn.ReLU()
        self.swish = Swish()

    def forward(self, x):
        weight = self.weight_relu(self.weight)
        weight = weight / (torch.sum(weight, dim=0) + self.e)
        return self.swish(weight[0] * x[0] + weight[1] * x[1])


def initialize_weights(model):
    for m in model.modules():
        t = type(m)
        if t is nn.BatchNorm2d:
            m.eps = 1e-3
            m.momentum = 0.03
        elif t in [nn.Hardswish, nn.LeakyReLU, nn.ReLU, nn.ReLU6]:
            m.inplace = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p3 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1))
        self.p4 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1))
        self.fuse = Fusefeature()
        self.detect = nn.Conv2d(8, 6, 1)
        initialize_weights(self)

    def forward(self, x):
        return self.detect(self.fuse([self.p3(x), self.p4(x)]))


# %%
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# %%
imgs = torch.rand(2, 3, 16, 16)
loss = model(imgs).pow(2).mean()
loss.backward()
optimizer.step()
print(loss.item())
