# https://github.com/kazuto1011/deeplab-pytorch/issues/84
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Config:
    N_CLASSES, IGNORE_LABEL = 3, 255
    LR, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 5e-4
    ITER_MAX, ITER_SIZE, BATCH_SIZE, POLY_POWER = 60, 2, 5, 0.9


CONFIG = Config()


class DeepLab(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(12, 12, 3, padding=2, dilation=2), nn.ReLU())
        self.aspp = nn.ModuleList([nn.Conv2d(12, n_classes, 3, padding=r, dilation=r) for r in (1, 2)])

    def forward(self, x):
        h = self.layer2(self.layer1(x))
        return sum(stage(h) for stage in self.aspp)


class MSC(nn.Module):
    """Logits of the whole picture, of smaller ones, and the largest of each place."""

    def __init__(self, base, scales=(0.5, 0.75)):
        super().__init__()
        self.base, self.scales = base, scales

    def forward(self, x):
        logits = self.base(x)
        _, _, H, W = logits.shape
        interp = lambda l: F.interpolate(l, size=(H, W), mode="bilinear", align_corners=False)
        logits_pyramid = []
        for p in self.scales:
            h = F.interpolate(x, scale_factor=p, mode="bilinear", align_corners=False)
            logits_pyramid.append(self.base(h))
        logits_all = [logits] + [interp(l) for l in logits_pyramid]
        logits_max = torch.max(torch.stack(logits_all), dim=0)[0]
        return [logits] + logits_pyramid + [logits_max]


def get_params(model, key):
    for name, m in model.named_modules():
        if isinstance(m, nn.Conv2d):
            if key == "1x" and "layer" in name:
                yield from m.parameters()
            if key == "10x" and "aspp" in name:
                yield m.weight
            if key == "20x" and "aspp" in name:
                yield m.bias


def resize_labels(labels, size):
    return F.interpolate(labels.float().unsqueeze(1), size=size, mode="nearest").squeeze(1).long()


class PolynomialLR(torch.optim.lr_scheduler.LambdaLR):
    def __init__(self, optimizer, iter_max, power):
        super().__init__(optimizer, lambda it: (1 - min(it, iter_max - 1) / iter_max) ** power)


def load(n):
    labels = torch.randint(0, 3, (n, 2, 2)).repeat_interleave(6, 1).repeat_interleave(6, 2)
    images = torch.eye(3)[labels].permute(0, 3, 1, 2) + 0.6 * torch.randn(n, 3, 12, 12)
    labels[:, 0] = CONFIG.IGNORE_LABEL
    return images, labels


def compute(model, images, labels):
    iter_loss = 0
    for logit in model(images):
        # Resize labels for {100%, 75%, 50%, Max} logits
        _, _, H, W = logit.shape
        iter_loss += criterion(logit, resize_labels(labels, size=(H, W)))
    return iter_loss


# %%
model = MSC(DeepLab(CONFIG.N_CLASSES))
optimizer = torch.optim.SGD([
    {"params": get_params(model, "1x"), "lr": CONFIG.LR, "weight_decay": CONFIG.WEIGHT_DECAY},
    {"params": get_params(model, "10x"), "lr": 10 * CONFIG.LR, "weight_decay": CONFIG.WEIGHT_DECAY},
    {"params": get_params(model, "20x"), "lr": 20 * CONFIG.LR, "weight_decay": 0.0},
], lr=CONFIG.LR, momentum=CONFIG.MOMENTUM)
scheduler = PolynomialLR(optimizer, CONFIG.ITER_MAX, CONFIG.POLY_POWER)
criterion = nn.CrossEntropyLoss(ignore_index=CONFIG.IGNORE_LABEL)

# %%
model.train()
average_loss = []
for iteration in range(1, CONFIG.ITER_MAX + 1):
    # Clear gradients (ready to accumulate)
    optimizer.zero_grad()
    loss, seen = 0, []
    before_step = copy.deepcopy(model) if iteration == CONFIG.ITER_MAX else None
    for _ in range(CONFIG.ITER_SIZE):
        images, labels = load(CONFIG.BATCH_SIZE)
        iter_loss = compute(model, images, labels)
        # Propagate backward (just compute gradients)
        iter_loss /= CONFIG.ITER_SIZE
        iter_loss.backward()
        loss += iter_loss.item()
        seen.append((images, labels))
    average_loss.append(loss)
    optimizer.step()
    scheduler.step()

# %%
at_once = compute(before_step, *(torch.cat(part) for part in zip(*seen)))
whole = torch.autograd.grad(at_once, list(before_step.parameters()))
error = max((p.grad - g).abs().max().item() for p, g in zip(model.parameters(), whole))
print(average_loss[0], average_loss[-1], error)
assert error < 1e-5 and average_loss[-1] < 0.3 * average_loss[0]
