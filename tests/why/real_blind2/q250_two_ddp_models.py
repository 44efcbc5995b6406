# https://github.com/pytorch/pytorch/issues/22436
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

if not dist.is_initialized():
    store = dist.FileStore(os.path.join(tempfile.mkdtemp(), 'store'), 1)
    dist.init_process_group('gloo', store=store, rank=0, world_size=1)


class FeatureExtractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.GroupNorm(2, 4)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x))).flatten(1)


class Classifier(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.cls = nn.Linear(64, n_classes)
        self.domain = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, src_feature, tgt_feature):
        src_pred = self.cls(src_feature)
        tgt_pred = self.domain(tgt_feature)
        return src_pred, tgt_pred


# %%
model1 = DistributedDataParallel(FeatureExtractor())
model2 = DistributedDataParallel(Classifier())
optimizer1 = torch.optim.SGD(model1.parameters(), lr=0.01)
optimizer2 = torch.optim.SGD(model2.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()


def train_step(src, tgt, label):
    optimizer1.zero_grad()
    optimizer2.zero_grad()
    src_feature, tgt_feature = model1(torch.cat([src, tgt])).chunk(2)
    src_pred, tgt_pred = model2(src_feature, tgt_feature)
    loss = criterion(src_pred, label)
    loss.backward()
    optimizer1.step()
    optimizer2.step()
    return loss.item()


print(train_step(torch.randn(4, 1, 6, 6), torch.randn(4, 1, 6, 6), torch.randint(3, (4,))))

# %%
for i in range(3):
    src, tgt, label = torch.randn(4, 1, 6, 6), torch.randn(4, 1, 6, 6), torch.randint(3, (4,))
    print(i, train_step(src, tgt, label))
