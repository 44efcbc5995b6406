# https://github.com/Zzh-tju/DIoU-SSD-pytorch/issues/19
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


def bbox_ciou(pred, target, trade_off):
    w1, h1 = pred[:, 2] - pred[:, 0], pred[:, 3] - pred[:, 1]
    w2, h2 = target[:, 2] - target[:, 0], target[:, 3] - target[:, 1]
    inter = (torch.min(pred[:, 2:], target[:, 2:]) - torch.max(pred[:, :2], target[:, :2])).clamp(min=0).prod(1)
    iou = inter / (w1 * h1 + w2 * h2 - inter)
    centers = (pred[:, :2] + pred[:, 2:] - target[:, :2] - target[:, 2:]) / 2
    outer = torch.max(pred[:, 2:], target[:, 2:]) - torch.min(pred[:, :2], target[:, :2])
    u = (centers ** 2).sum(1) / (outer ** 2).sum(1)
    v = 4 / math.pi ** 2 * (torch.atan(w2 / h2) - torch.atan(w1 / h1)) ** 2
    return iou - (u + trade_off(iou, v) * v)


def alpha_without_grad(iou, v):
    with torch.no_grad():
        S = 1 - iou
        alpha = v / (S + v)
    return alpha


def alpha_of_numbers(iou, v):
    return torch.tensor([vi / (1 - ii + vi) for ii, vi in zip(iou.tolist(), v.tolist())])


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.loc = nn.Linear(16 * 64, 4)

    def forward(self, x):
        out = self.loc(self.features(x).flatten(1))
        center, size = torch.sigmoid(out[:, :2]), 0.5 * torch.exp(0.5 * torch.tanh(out[:, 2:]))
        return torch.cat([center - size / 2, center + size / 2], dim=1)


def draw_batch(n=32):
    size = 0.3 + 0.3 * torch.rand(n, 2)
    center = 0.3 + 0.4 * torch.rand(n, 2)
    boxes = torch.cat([center - size / 2, center + size / 2], 1)
    grid = (torch.arange(16) + 0.5) / 16
    inside_x = (grid > boxes[:, :1]) & (grid < boxes[:, 2:3])
    inside_y = (grid > boxes[:, 1:2]) & (grid < boxes[:, 3:])
    return (inside_y[:, None, :, None] & inside_x[:, None, None, :]).float(), boxes


# %%
net = BoxHead()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
history = []

# %%
for iteration in range(150):
    images, truths = draw_batch()
    loc_p = net(images)
    loss_l = (1 - bbox_ciou(loc_p, truths, alpha_without_grad).clamp(-1, 1)).sum() / len(truths)
    optimizer.zero_grad()
    loss_l.backward()
    optimizer.step()
    history.append(loss_l.item())
print(history[0], history[-1])
assert history[-1] < 0.5 * history[0]

# %%
images, truths = draw_batch()
with_no_grad = torch.autograd.grad((1 - bbox_ciou(net(images), truths, alpha_without_grad)).sum(), net.loc.weight)[0]
with_numbers = torch.autograd.grad((1 - bbox_ciou(net(images), truths, alpha_of_numbers)).sum(), net.loc.weight)[0]
assert torch.allclose(with_no_grad, with_numbers, atol=1e-4)
