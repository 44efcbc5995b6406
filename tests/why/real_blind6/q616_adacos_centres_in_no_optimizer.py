# https://github.com/4uiiurz1/pytorch-adacos/issues/10
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(0)


class MNISTNet(nn.Module):
    def __init__(self, num_features=8):
        super(MNISTNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 2, 1)
        self.bn = nn.BatchNorm1d(8)
        self.fc = nn.Linear(8, num_features)

    def forward(self, x):
        x = F.relu(self.conv1(x)).mean((2, 3))
        return self.fc(self.bn(x))


class AdaCos(nn.Module):
    def __init__(self, num_features, num_classes):
        super(AdaCos, self).__init__()
        self.n_classes = num_classes
        self.s = math.sqrt(2) * math.log(num_classes - 1)
        self.W = nn.Parameter(torch.FloatTensor(num_classes, num_features))
        nn.init.xavier_uniform_(self.W)

    def forward(self, input, label=None):
        x = F.normalize(input)
        W = F.normalize(self.W)
        logits = F.linear(x, W)
        if label is None:
            return logits
        theta = torch.acos(torch.clamp(logits, -1.0 + 1e-7, 1.0 - 1e-7))
        one_hot = torch.zeros_like(logits)
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        with torch.no_grad():
            B_avg = torch.where(one_hot < 1, torch.exp(self.s * logits), torch.zeros_like(logits))
            B_avg = torch.sum(B_avg) / input.size(0)
            theta_med = torch.median(theta[one_hot == 1])
            self.s = torch.log(B_avg) / torch.cos(torch.min(math.pi / 4 * torch.ones_like(theta_med), theta_med))
        return self.s * logits


def train(train_loader, model, metric_fc, criterion, optimizer):
    model.train()
    metric_fc.train()
    for input, target in train_loader:
        feature = model(input)
        output = metric_fc(feature, target)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


# %%
model, metric_fc = MNISTNet(), AdaCos(num_features=8, num_classes=10)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1,
                      momentum=0.5, weight_decay=1e-4)
train_loader = [(torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,))) for _ in range(5)]
W_before = metric_fc.W.detach().clone()

# %%
for epoch in range(2):
    loss = train(train_loader, model, metric_fc, criterion, optimizer)
    print('Epoch [%d/%d] loss %.4f' % (epoch + 1, 2, loss.item()))
