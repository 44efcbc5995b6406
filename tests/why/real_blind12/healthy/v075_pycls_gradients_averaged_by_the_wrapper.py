# https://github.com/facebookresearch/pycls/issues/18
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)

if not dist.is_initialized():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def scaled_all_reduce(tensors):
    """the figures of all processes, averaged: for the log alone"""
    reductions = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for reduction in reductions:
        reduction.wait()
    for tensor in tensors:
        tensor.mul_(1.0 / dist.get_world_size())
    return tensors


def topk_errors(preds, labels, ks):
    top = preds.topk(max(ks), 1)[1]
    correct = top.eq(labels[:, None])
    return [(1.0 - correct[:, :k].any(1).float().mean()) * 100.0 for k in ks]


class AnyNet(nn.Module):
    def __init__(self, nc=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.head = nn.Linear(16, nc)

    def forward(self, x):
        x = self.stem(x)
        x = torch.relu(x + self.block(x))
        return self.head(x.mean((2, 3)))


class TrainMeter:
    def __init__(self):
        self.losses, self.errors = [], []

    def update_stats(self, top1_err, loss):
        self.losses.append(loss)
        self.errors.append(top1_err)


# %%
model = DistributedDataParallel(AnyNet())
loss_fun = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-5)
train_meter = TrainMeter()
means = torch.randn(5, 3, 1, 1)

# %%
model.train()
for cur_iter in range(50):
    labels = torch.randint(0, 5, (32,))
    inputs = means[labels] + 0.5 * torch.randn(32, 3, 8, 8)
    preds = model(inputs)
    loss = loss_fun(preds, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    top1_err, top2_err = topk_errors(preds, labels, [1, 2])
    loss, top1_err, top2_err = scaled_all_reduce([loss.detach(), top1_err, top2_err])
    train_meter.update_stats(top1_err.item(), loss.item())
print(train_meter.losses[0], train_meter.losses[-1], train_meter.errors[-1])
assert train_meter.losses[-1] < 0.6 * train_meter.losses[0]
assert all(p.grad is not None for p in model.parameters())
dist.destroy_process_group()
