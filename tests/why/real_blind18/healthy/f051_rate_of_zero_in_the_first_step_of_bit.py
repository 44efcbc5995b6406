# https://github.com/google-research/big_transfer/issues/58
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


def get_schedule(dataset_size):
    return [10, 40, 60, 80] if dataset_size < 20_000 else [500, 3000, 6000, 9000]


def get_lr(step, dataset_size, base_lr=0.003):
    """Returns learning-rate for `step` or None at the end."""
    supports = get_schedule(dataset_size)
    # Linear warmup
    if step < supports[0]:
        return base_lr * step / supports[0]
    # End of training
    elif step >= supports[-1]:
        return None
    # Staircase decays by factor of 10
    else:
        for s in supports[1:]:
            if s < step:
                base_lr /= 10
        return base_lr


class ResNetV2(nn.Module):
    def __init__(self, head_size=4, zero_head=True):
        super().__init__()
        self.root = nn.Conv2d(3, 12, 3, padding=1)
        self.gn1, self.gn2 = nn.GroupNorm(3, 12), nn.GroupNorm(3, 12)
        self.conv1, self.conv2 = nn.Conv2d(12, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1)
        self.head = nn.Linear(12, head_size)
        if zero_head:
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = self.root(x)
        x = x + self.conv2(F.relu(self.gn2(self.conv1(F.relu(self.gn1(x))))))
        return self.head(F.relu(x).mean((2, 3)))


def mixup_data(x, y, l):
    indices = torch.randperm(x.shape[0])
    return l * x + (1 - l) * x[indices], y, y[indices]


def mixup_criterion(criterion, pred, y_a, y_b, l):
    return l * criterion(pred, y_a) + (1 - l) * criterion(pred, y_b)


def get_images(n):
    y = torch.randint(0, 4, (n,))
    stripes = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.6, 0.0]])[y]
    return stripes.view(n, 3, 1, 1) + 0.5 * torch.randn(n, 3, 8, 8), y


# %%
train_set = get_images(512)
batch, batch_split, base_lr, mixup = 32, 2, 0.1, 0.1
micro_batch_size = batch // batch_split
model = ResNetV2(head_size=4, zero_head=True)
optim = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)
optim.zero_grad()
model.train()
cri = torch.nn.CrossEntropyLoss()
snapshots = [[p.detach().clone() for p in model.parameters()]]

# %%
step, accum_steps, lrs, losses = 0, 0, [], []
mixup_l = np.random.beta(mixup, mixup) if mixup > 0 else 1
while True:
    idx = torch.randint(0, 512, (micro_batch_size,))
    x, y = train_set[0][idx], train_set[1][idx]
    lr = get_lr(step, len(train_set[1]), base_lr)
    if lr is None:
        break
    for param_group in optim.param_groups:
        param_group["lr"] = lr
    x, y_a, y_b = mixup_data(x, y, mixup_l)
    logits = model(x)
    c = mixup_criterion(cri, logits, y_a, y_b, mixup_l)
    losses.append(float(c.data.cpu().numpy()))
    (c / batch_split).backward()
    accum_steps += 1
    if accum_steps == batch_split:
        optim.step()
        optim.zero_grad()
        step += 1
        accum_steps = 0
        lrs.append(lr)
        if step <= 2:
            snapshots.append([p.detach().clone() for p in model.parameters()])
        mixup_l = np.random.beta(mixup, mixup) if mixup > 0 else 1

# %%
model.eval()
with torch.no_grad():
    x, y = get_images(400)
    top1 = (model(x).argmax(1) == y).float().mean().item()
moved = [max((a - b).abs().max().item() for a, b in zip(s, t)) for s, t in zip(snapshots, snapshots[1:])]
print(lrs[:3], moved, losses[0], losses[-1], top1)
assert lrs[0] == 0 and moved[0] == 0 and moved[1] > 0
assert top1 > 0.9
