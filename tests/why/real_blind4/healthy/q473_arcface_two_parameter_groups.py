# https://github.com/ronghuaiyang/arcface-pytorch/issues/20
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter

torch.manual_seed(0)


class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=30.0, m=0.50, easy_margin=False):
        super(ArcMarginProduct, self).__init__()
        self.s, self.m = s, m
        self.weight = Parameter(torch.FloatTensor(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.easy_margin = easy_margin
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)
        self.th, self.mm = math.cos(math.pi - m), math.sin(math.pi - m) * m

    def forward(self, input, label):
        cosine = F.linear(F.normalize(input), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(1e-4, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        if self.easy_margin:
            phi = torch.where(cosine > 0, phi, cosine)
        else:
            phi = torch.where(cosine > self.th, phi, cosine - self.mm)
        one_hot = torch.zeros(cosine.size())
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        output = (one_hot * phi) + ((1.0 - one_hot) * cosine)
        output *= self.s
        return output


class ResNetFace(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.prelu = nn.PReLU()
        self.fc5 = nn.Linear(8 * 16, 12)
        self.bn5 = nn.BatchNorm1d(12)

    def forward(self, x):
        x = self.prelu(self.bn(self.conv(x)))
        return self.bn5(self.fc5(x.view(x.size(0), -1)))


class Config:
    lr, weight_decay, num_classes = 1e-2, 5e-4, 6


# %%
opt = Config()
model = ResNetFace()
metric_fc = ArcMarginProduct(12, opt.num_classes, s=30, m=0.5, easy_margin=False)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam([{'params': model.parameters()}, {'params': metric_fc.parameters()}],
                             lr=opt.lr, weight_decay=opt.weight_decay)
metric_before, model_before = metric_fc.weight.detach().clone(), model.conv.weight.detach().clone()

for ii in range(3):
    data_input, label = torch.rand(12, 1, 8, 8), torch.randint(opt.num_classes, (12,))
    feature = model(data_input)
    output = metric_fc(feature, label)
    loss = criterion(output, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(ii, loss.item())
