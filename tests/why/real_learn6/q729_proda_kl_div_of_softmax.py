# https://github.com/microsoft/ProDA/issues/43
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CustomModel(nn.Module):
    def __init__(self, n_class=5):
        super().__init__()
        self.BaseNet = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, n_class, 1))
        self.teacher = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, n_class, 1))
        self.optimizer = torch.optim.SGD(self.BaseNet.parameters(), lr=1e-2, momentum=0.9)

    def step(self, target_image, target_label, distillation=1.0):
        target_out = self.BaseNet(target_image)
        loss = F.cross_entropy(target_out, target_label)
        if distillation > 0:
            student = F.softmax(target_out, dim=1)
            with torch.no_grad():
                teacher_out = self.teacher(target_image)
                teacher = F.softmax(teacher_out, dim=1)
            loss_kd = F.kl_div(student, teacher, reduction='none')
            mask = (teacher != 250).float()
            loss_kd = (loss_kd * mask).sum() / mask.sum()
            loss = loss + distillation * loss_kd
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss, loss_kd


# %%
model = CustomModel()

# %%
for i in range(3):
    image, label = torch.rand(2, 3, 8, 8), torch.randint(0, 5, (2, 8, 8))
    loss, loss_kd = model.step(image, label)
    print(loss.item(), loss_kd.item())
