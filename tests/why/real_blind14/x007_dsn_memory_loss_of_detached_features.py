# https://github.com/haowang1992/DSN/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CSEResnet(nn.Module):
    def __init__(self, dim=16, num_classes=5):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, dim))
        self.last_linear = nn.Linear(dim, num_classes)

    def forward(self, x):
        features = self.backbone(x)
        return self.last_linear(features), F.normalize(features, dim=1)


class Memory:
    def __init__(self, size, dim):
        self.features, self.labels = F.normalize(torch.randn(size, dim), dim=1), torch.zeros(size).long()
        self.at = 0

    def add_entries(self, features, labels):
        where = (torch.arange(len(features)) + self.at) % len(self.features)
        self.features[where], self.labels[where] = features, labels
        self.at = int(where[-1]) + 1

    def memory_loss(self, features, labels):
        same = (labels[:, None] == self.labels[None]).float()
        return ((features @ self.features.t()) * same).sum() / same.sum().clamp(min=1)


# %%
model, memory = CSEResnet(), Memory(64, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(10):
    sketch, image = torch.randn(8, 24), torch.randn(8, 24)
    label_s, label_i = torch.randint(0, 5, (8,)), torch.randint(0, 5, (8,))
    output, features = model(torch.cat([sketch, image], 0))
    loss_cls = F.cross_entropy(output, torch.cat([label_s, label_i]))
    memory.add_entries(features[:8].detach(), label_s.detach())
    loss_memory = 1.0 - memory.memory_loss(features[8:].detach(), label_i.detach())
    loss = loss_cls + loss_memory
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss_cls.item(), loss_memory.item())
