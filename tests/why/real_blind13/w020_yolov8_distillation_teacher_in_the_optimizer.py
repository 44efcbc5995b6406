# https://github.com/huangzongmou/yolov8_Distillation/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        sizes = [1, width, 2 * width, 2 * width]
        self.stages = nn.ModuleList([nn.Sequential(nn.Conv2d(sizes[i], sizes[i + 1], 3, 2, 1),
                                                   nn.BatchNorm2d(sizes[i + 1]), nn.SiLU()) for i in range(3)])
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        feats = []
        for stage in self.stages:
            x = stage(x)
            feats.append(x)
        return self.head(x.mean((2, 3))), feats


class FeatureLoss(nn.Module):
    """Brings the student's channels to the teacher's, and compares."""

    def __init__(self, channels_s, channels_t):
        super().__init__()
        self.align = nn.ModuleList([nn.Conv2d(s, t, 1) for s, t in zip(channels_s, channels_t)])

    def forward(self, feats_s, feats_t):
        return sum(F.mse_loss(a(s), t) for a, s, t in zip(self.align, feats_s, feats_t))


def build_optimizer(*models, lr=0.001, decay=1e-5):
    g = [], [], []  # weights with decay, weights of norms, biases
    for model in models:
        for module in model.modules():
            if hasattr(module, "bias") and isinstance(module.bias, nn.Parameter):
                g[2].append(module.bias)
            if isinstance(module, nn.BatchNorm2d):
                g[1].append(module.weight)
            elif hasattr(module, "weight") and isinstance(module.weight, nn.Parameter):
                g[0].append(module.weight)
    optimizer = torch.optim.Adam(g[2], lr=lr)
    optimizer.add_param_group({"params": g[0], "weight_decay": decay})
    optimizer.add_param_group({"params": g[1], "weight_decay": 0.0})
    return optimizer


def make_batch(n):
    labels = torch.randint(0, 4, (n,))
    imgs = 0.3 * torch.randn(n, 1, 16, 16)
    for k, c in enumerate(labels.tolist()):
        imgs[k, 0, 8 * (c // 2):8 * (c // 2) + 8, 8 * (c % 2):8 * (c % 2) + 8] += 1
    return imgs, labels


# %%
student, teacher = Backbone(4), Backbone(8)
teacher_before = teacher.stages[0][0].weight.detach().clone()
for p in teacher.parameters():
    p.requires_grad = True
feature_loss = FeatureLoss([4, 8, 8], [8, 16, 16])
optimizer = build_optimizer(student, teacher, lr=0.001, decay=1e-5)
optimizer.add_param_group({"params": list(feature_loss.parameters())})

for epoch in range(20):
    student.train()
    teacher.eval()
    imgs, labels = make_batch(16)
    preds, feats_s = student(imgs)
    _, feats_t = teacher(imgs)
    distill_loss = feature_loss(feats_s, feats_t)
    loss = F.cross_entropy(preds, labels) + distill_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), distill_loss.item())
