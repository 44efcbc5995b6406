# https://github.com/Adamdad/ConsistentTeacher/issues/10
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    """Says for each cell of a grid what is there, and how large it is."""

    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())
        self.cls = nn.Conv2d(24, classes, 1)
        self.bbox = nn.Conv2d(24, 1, 1)
        nn.init.constant_(self.cls.bias, -2.2)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls(f), self.bbox(f)


def supervised_loss(model, images, labels, sizes):
    cls, bbox = model(images)
    target = F.one_hot(labels, 4)[..., :3].permute(0, 3, 1, 2).float()
    positive = (labels < 3).unsqueeze(1)
    loss_bbox = ((bbox - sizes).abs() * positive).sum() / positive.sum().clamp(min=1)
    loss_cls = F.binary_cross_entropy_with_logits(cls, target, reduction='sum') / positive.sum().clamp(min=1)
    return {'sup_loss_cls': loss_cls, 'sup_loss_bbox': loss_bbox}


class MeanTeacher(nn.Module):
    def __init__(self, model, momentum=0.95, score_thr=0.6):
        super().__init__()
        self.student, self.teacher = model, copy.deepcopy(model)
        self.momentum, self.score_thr = momentum, score_thr
        for p in self.teacher.parameters():
            p.requires_grad = False

    def unsupervised_loss(self, weak, strong):
        with torch.no_grad():
            cls_t, bbox_t = self.teacher(weak)
            scores = cls_t.sigmoid()
            keep = (scores > self.score_thr).float()
        cls_s, bbox_s = self.student(strong)
        anywhere = keep.amax(1, keepdim=True)
        loss_cls = (F.binary_cross_entropy_with_logits(cls_s, keep, reduction='none') * anywhere).sum() / anywhere.sum().clamp(min=1)
        loss_bbox = ((bbox_s - bbox_t).abs() * anywhere).sum() / anywhere.sum().clamp(min=1)
        return {'unsup_loss_cls': loss_cls, 'unsup_loss_bbox': loss_bbox}

    @torch.no_grad()
    def momentum_update(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.momentum).add_(s, alpha=1 - self.momentum)


def draw_scene(n, noise):
    labels = torch.where(torch.rand(n, 6, 6) < 0.15, torch.randint(0, 3, (n, 6, 6)), torch.tensor(3))
    sizes = 0.5 + torch.rand(n, 1, 6, 6)
    clean = F.one_hot(labels, 4)[..., :3].permute(0, 3, 1, 2).float() * sizes
    return clean + noise * torch.randn_like(clean), clean + 3 * noise * torch.randn_like(clean), labels, sizes


# %%
detector = MeanTeacher(Detector())
optimizer = torch.optim.SGD(detector.student.parameters(), lr=0.03, momentum=0.9)
log = []

# %%
for it in range(200):
    images, _, labels, sizes = draw_scene(4, noise=0.05)
    weak, strong, _, _ = draw_scene(8, noise=0.05)
    losses = supervised_loss(detector.student, images, labels, sizes)
    losses.update(detector.unsupervised_loss(weak, strong))
    loss = losses['sup_loss_cls'] + losses['sup_loss_bbox'] + losses['unsup_loss_cls'] + 0.5 * losses['unsup_loss_bbox']
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    detector.momentum_update()
    log.append({name: value.item() for name, value in losses.items()})
print(log[0], log[-1])

# %%
images, _, labels, _ = draw_scene(50, noise=0.05)
with torch.no_grad():
    found = detector.teacher(images)[0].sigmoid()
recall = (found.amax(1) > 0.5)[labels < 3].float().mean().item()
print(recall)
assert log[0]['unsup_loss_cls'] == 0 and log[-1]['unsup_loss_cls'] > 0
assert all(p.grad is None for p in detector.teacher.parameters())
assert recall > 0.8
