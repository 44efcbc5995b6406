# https://github.com/Syencil/mobile-yolov5-pruning-distillation/issues/83
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.SiLU(), nn.Conv2d(width, width, 3, 2, 1), nn.SiLU())
        self.head = nn.Conv2d(width, 6, 1)

    def forward(self, x, target=None):
        features = self.backbone(x)
        return self.head(features), features


def compute_loss(pred, targets):
    return F.mse_loss(pred, targets)


def compute_distillation_output_loss(p, t_p, dist=1.0):
    return F.mse_loss(p, t_p) * dist


def compute_distillation_feature_loss(s_f, t_f, stride_adapter, dist=1.0):
    s_f = stride_adapter(s_f.detach())
    return F.mse_loss(s_f, t_f) * dist


# %%
student, teacher = Detector(8), Detector(16).eval()
for p in teacher.parameters():
    p.requires_grad = False
adapter = nn.Conv2d(8, 16, 1)
optimizer = torch.optim.SGD([*student.parameters(), *adapter.parameters()], lr=0.01, momentum=0.9)

# %%
for i in range(3):
    imgs, targets = torch.rand(4, 3, 16, 16), torch.rand(4, 6, 4, 4)
    pred, s_f = student(imgs)
    with torch.no_grad():
        t_pred, t_f = teacher(imgs)
    loss = compute_loss(pred, targets)
    d_outputs_loss = compute_distillation_output_loss(pred, t_pred)
    d_feature_loss = compute_distillation_feature_loss(s_f, t_f, adapter)
    loss = loss + d_outputs_loss + d_feature_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, d_outputs_loss.item(), d_feature_loss.item())
