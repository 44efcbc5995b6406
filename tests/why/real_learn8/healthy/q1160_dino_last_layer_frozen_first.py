# https://github.com/facebookresearch/dino/blob/main/main_dino.py
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim, norm_last_layer=True):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, 16), nn.GELU(), nn.Linear(16, 8))
        self.last_layer = nn.utils.weight_norm(nn.Linear(8, out_dim, bias=False))
        self.last_layer.weight_g.data.fill_(1)
        if norm_last_layer:
            self.last_layer.weight_g.requires_grad = False

    def forward(self, x):
        x = self.mlp(x)
        x = nn.functional.normalize(x, dim=-1, p=2)
        return self.last_layer(x)


class MultiCropWrapper(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x):
        return self.head(torch.cat([self.backbone(crop) for crop in x]))


class DINOLoss(nn.Module):
    def __init__(self, out_dim, ncrops, teacher_temp=0.04, student_temp=0.1, center_momentum=0.9):
        super().__init__()
        self.student_temp, self.teacher_temp = student_temp, teacher_temp
        self.center_momentum, self.ncrops = center_momentum, ncrops
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student_output, teacher_output):
        student_out = (student_output / self.student_temp).chunk(self.ncrops)
        teacher_out = F.softmax((teacher_output - self.center) / self.teacher_temp, dim=-1)
        teacher_out = teacher_out.detach().chunk(2)
        total_loss, n_loss_terms = 0, 0
        for iq, q in enumerate(teacher_out):
            for v in range(len(student_out)):
                if v == iq:
                    continue
                loss = torch.sum(-q * F.log_softmax(student_out[v], dim=-1), dim=-1)
                total_loss += loss.mean()
                n_loss_terms += 1
        total_loss /= n_loss_terms
        self.update_center(teacher_output)
        return total_loss

    @torch.no_grad()
    def update_center(self, teacher_output):
        batch_center = torch.sum(teacher_output, dim=0, keepdim=True) / len(teacher_output)
        self.center = self.center * self.center_momentum + batch_center * (1 - self.center_momentum)


def cancel_gradients_last_layer(epoch, model, freeze_last_layer):
    if epoch >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


student = MultiCropWrapper(nn.Linear(12, 8), DINOHead(8, 10))
teacher = MultiCropWrapper(nn.Linear(12, 8), DINOHead(8, 10))
teacher.load_state_dict(student.state_dict())
for p in teacher.parameters():
    p.requires_grad = False
dino_loss = DINOLoss(10, 4)
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
before = student.backbone.weight.detach().clone()

# %%
lr_schedule, momentum_schedule = [0.0, 5e-4, 1e-3, 5e-4], [0.996, 0.997, 0.998, 1.0]
for it in range(3):
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr_schedule[it]
    images = [torch.randn(6, 12) for _ in range(4)]
    teacher_output = teacher(images[:2])
    student_output = student(images)
    loss = dino_loss(student_output, teacher_output)
    if not math.isfinite(loss.item()):
        raise SystemExit
    optimizer.zero_grad()
    loss.backward()
    for name, p in student.named_parameters():
        if p.grad is not None:
            param_norm = p.grad.data.norm(2)
            clip_coef = 3.0 / (param_norm + 1e-6)
            if clip_coef < 1:
                p.grad.data.mul_(clip_coef)
    cancel_gradients_last_layer(0, student, 1)
    optimizer.step()
    with torch.no_grad():
        m = momentum_schedule[it]
        for param_q, param_k in zip(student.parameters(), teacher.parameters()):
            param_k.data.mul_(m).add_((1 - m) * param_q.detach().data)
    print(loss.item(), optimizer.param_groups[0]["lr"])
