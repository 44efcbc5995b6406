# https://github.com/adambielski/siamese-triplet/issues/17
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler

torch.manual_seed(0)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super(EmbeddingNet, self).__init__()
        self.convnet = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, stride=2),
                                     nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(16 * 3 * 3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(m.weight, nonlinearity='relu')
                nn.init.zeros_(m.bias)

    def forward(self, x):
        output = self.convnet(x)
        output = output.view(output.size()[0], -1)
        return self.fc(output)


class TripletNet(nn.Module):
    def __init__(self, embedding_net):
        super(TripletNet, self).__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2, x3):
        return self.embedding_net(x1), self.embedding_net(x2), self.embedding_net(x3)


class TripletLoss(nn.Module):
    def __init__(self, margin):
        super(TripletLoss, self).__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative, size_average=True):
        distance_positive = (anchor - positive).pow(2).sum(1)
        distance_negative = (anchor - negative).pow(2).sum(1)
        losses = F.relu(distance_positive - distance_negative + self.margin)
        return losses.mean() if size_average else losses.sum()


patterns = torch.rand(4, 1, 12, 12)


def triplets(n):
    label = torch.randint(0, 4, (n,))
    other = (label + torch.randint(1, 4, (n,))) % 4
    return tuple(patterns[k] + 0.1 * torch.randn(n, 1, 12, 12) for k in (label, label, other))


# %%
margin = 1.
embedding_net = EmbeddingNet()
model = TripletNet(embedding_net)
loss_fn = TripletLoss(margin)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = lr_scheduler.StepLR(optimizer, 8, gamma=0.5, last_epoch=-1)

# %%
epoch_losses = []
for epoch in range(12):
    model.train()
    total_loss = 0
    for batch_idx in range(20):
        data = triplets(32)
        optimizer.zero_grad()
        outputs = model(*data)
        loss = loss_fn(*outputs)
        total_loss += loss.item()
        loss.backward()
        optimizer.step()
    scheduler.step()
    epoch_losses.append(total_loss / 20)

# %%
print(epoch_losses[0], epoch_losses[-1])
assert epoch_losses[-1] < 0.3 * epoch_losses[0]
