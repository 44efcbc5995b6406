# https://github.com/microsoft/ProDA/issues/20
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Deeplab(nn.Module):
    def __init__(self, num_classes=5, width=16):
        super().__init__()
        self.backbone = nn.Conv2d(3, width, 3, padding=1)
        self.classifier = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        feat = F.relu(self.backbone(x))
        return {'feat': feat, 'out': self.classifier(feat)}


# %%
student_net, teacher_net = Deeplab(), Deeplab(width=32)
for p in teacher_net.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(student_net.parameters(), lr=0.05, momentum=0.9)
distillation = 1.0
target_imageS = torch.randn(4, 3, 16, 16)

# %%
for step in range(20):
    target_out = student_net(target_imageS)
    loss = 0.
    if distillation > 0:
        student = F.softmax(target_out['out'], dim=1)
        with torch.no_grad():
            teacher_out = teacher_net(target_imageS)
            teacher_out['out'] = F.interpolate(teacher_out['out'], size=(16, 16), mode='bilinear',
                                               align_corners=True)
            teacher = F.softmax(teacher_out['out'], dim=1)

        loss_kd = F.kl_div(student, teacher, reduction='none')
        mask = (teacher != 250).float()
        loss_kd = (loss_kd * mask).sum() / mask.sum()
        loss = loss + distillation * loss_kd
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss_kd.item())
