# https://github.com/ronghuaiyang/arcface-pytorch/issues/91
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ArcMarginProduct(nn.Module):
    """Large margin arc distance: cos(theta + m)"""

    def __init__(self, in_features, out_features, s=30.0, m=0.50, easy_margin=False):
        super(ArcMarginProduct, self).__init__()
        self.s, self.m = s, m
        self.weight = nn.Parameter(torch.FloatTensor(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.easy_margin = easy_margin
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)
        self.th = math.cos(math.pi - m)
        self.mm = math.sin(math.pi - m) * m

    def forward(self, input, label):
        # cos(theta) & phi(theta)
        cosine = F.linear(F.normalize(input), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(0, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        if self.easy_margin:
            phi = torch.where(cosine > 0, phi, cosine)
        else:
            phi = torch.where(cosine > self.th, phi, cosine - self.mm)
        one_hot = torch.zeros(cosine.size())
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        output = (one_hot * phi) + ((1.0 - one_hot) * cosine)
        return output * self.s


class FaceNet(nn.Module):
    def __init__(self, num_features=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 24), nn.PReLU(), nn.Linear(24, num_features))

    def forward(self, x):
        return self.backbone(x)


# %%
torch.manual_seed(5)
model = FaceNet()
metric_fc = ArcMarginProduct(2, 4, s=30, m=0.5)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD([{'params': model.parameters()}, {'params': metric_fc.parameters()}],
                            lr=0.1, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
data_input = torch.randn(4, 16)
label = torch.arange(4)
with torch.no_grad():  # resumed: the class centres are those of the last epoch's features
    metric_fc.weight.copy_(F.normalize(model(data_input)))

# %%
for ii in range(2):
    feature = model(data_input)
    output = metric_fc(feature, label)
    loss = criterion(output, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(ii, loss.item())
