# https://github.com/Tencent/YOLO-Master/pull/240
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.p3 = nn.Conv2d(3, width, 3, 2, 1)
        self.p4 = nn.Conv2d(width, width, 3, 2, 1)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = F.silu(self.p3(x))
        x = F.silu(self.p4(x))
        return self.head(x.mean((2, 3)))


class Distiller:
    def __init__(self, student, teacher, layers):
        self.student, self.teacher = student, teacher
        self.student_cache, self.teacher_cache = {}, {}
        for name in layers:
            getattr(student, name).register_forward_hook(self._keep(self.student_cache, name))
            getattr(teacher, name).register_forward_hook(self._keep(self.teacher_cache, name))

    def _keep(self, cache, name):
        def hook(module, inputs, output):
            cache[name] = output
        return hook

    def compute_hierarchical_distillation_loss(self, imgs):
        self.student_cache.clear()
        self.teacher_cache.clear()
        with torch.no_grad():
            self.teacher(imgs)
            self.student(imgs)
        loss = 0.0
        for name, features in self.student_cache.items():
            loss = loss + F.mse_loss(features, self.teacher_cache[name])
        return loss


# %%
student, teacher = Backbone(8), Backbone(8).eval().requires_grad_(False)
distiller = Distiller(student, teacher, ["p3", "p4"])
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)

# %%
for step in range(3):
    imgs, targets = torch.rand(4, 3, 16, 16), torch.randint(0, 5, (4,))
    det_loss = F.cross_entropy(student(imgs), targets)
    hier_loss = distiller.compute_hierarchical_distillation_loss(imgs)
    loss = det_loss + 0.5 * hier_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, det_loss.item(), float(hier_loss))
