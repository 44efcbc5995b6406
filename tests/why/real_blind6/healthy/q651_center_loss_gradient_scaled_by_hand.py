# https://github.com/KaiyangZhou/pytorch-center-loss/issues/7
import torch
import torch.nn as nn

torch.manual_seed(0)


class CenterLoss(nn.Module):
    def __init__(self, num_classes=10, feat_dim=2):
        super(CenterLoss, self).__init__()
        self.num_classes = num_classes
        self.feat_dim = feat_dim
        self.centers = nn.Parameter(torch.randn(self.num_classes, self.feat_dim))

    def forward(self, x, labels):
        batch_size = x.size(0)
        distmat = torch.cdist(x, self.centers).pow(2)
        mask = labels.unsqueeze(1).eq(torch.arange(self.num_classes).unsqueeze(0))
        dist = distmat * mask.float()
        return dist.clamp(min=1e-12, max=1e+12).sum() / batch_size


class ConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super(ConvNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 2, 1)
        self.fc1 = nn.Linear(8, 2)
        self.fc2 = nn.Linear(2, num_classes)

    def forward(self, x):
        x = torch.relu(self.conv1(x)).mean((2, 3))
        x = self.fc1(x)
        return x, self.fc2(x)


# %%
model = ConvNet()
criterion_xent, criterion_cent = nn.CrossEntropyLoss(), CenterLoss()
optimizer_model = torch.optim.SGD(model.parameters(), lr=0.001, weight_decay=5e-04, momentum=0.9)
optimizer_centloss = torch.optim.SGD(criterion_cent.parameters(), lr=0.5)
weight_cent = 0.1
before = criterion_cent.centers.detach().clone()

# %%
model.train()
for batch_idx in range(4):
    data, labels = torch.rand(16, 1, 8, 8), torch.randint(0, 10, (16,))
    features, outputs = model(data)
    loss_xent = criterion_xent(outputs, labels)
    loss_cent = criterion_cent(features, labels)
    loss_cent *= weight_cent
    loss = loss_xent + loss_cent
    optimizer_model.zero_grad()
    optimizer_centloss.zero_grad()
    loss.backward()
    optimizer_model.step()
    # by doing so, weight_cent would not impact on the learning of centers
    for param in criterion_cent.parameters():
        param.grad.data *= (1. / weight_cent)
    optimizer_centloss.step()
    print(batch_idx, loss_xent.item(), loss_cent.item())
