# https://github.com/huangzongmou/yolov8_Distillation/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.SiLU())
        self.block2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.SiLU())
        self.head = nn.Linear(2 * width, 4)

    def forward(self, x):
        return self.head(self.block2(self.block1(x)).mean(dim=(2, 3)))


class FeatureLoss(nn.Module):
    """Aligns the student's channels with the teacher's and compares them channel by channel."""

    def __init__(self, channels_s, channels_t, tau=1.0):
        super().__init__()
        self.tau = tau
        self.align_module = nn.ModuleList(
            [nn.Conv2d(s, t, kernel_size=1) for s, t in zip(channels_s, channels_t)])

    def forward(self, y_s, y_t):
        losses = []
        for idx, (s, t) in enumerate(zip(y_s, y_t)):
            s = self.align_module[idx](s)
            n, c, h, w = s.shape
            p_t = F.softmax(t.reshape(-1, w * h) / self.tau, dim=1)
            log_s = F.log_softmax(s.reshape(-1, w * h) / self.tau, dim=1)
            losses.append(F.kl_div(log_s, p_t, reduction="sum") * self.tau ** 2 / (c * n))
        return sum(losses)


class DistillationLoss:
    def __init__(self, model_s, model_t):
        self.D_loss_fn = FeatureLoss([8, 16], [16, 32])
        self.pairs = [(model_s.block1, model_t.block1), (model_s.block2, model_t.block2)]
        self.student_outputs, self.teacher_outputs = [], []

    def register_hook(self):
        for s, t in self.pairs:
            s.register_forward_hook(lambda m, i, o: self.student_outputs.append(o))
            t.register_forward_hook(lambda m, i, o: self.teacher_outputs.append(o))

    def get_loss(self):
        loss = self.D_loss_fn(self.student_outputs, self.teacher_outputs)
        self.student_outputs.clear()
        self.teacher_outputs.clear()
        return loss


def build_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=2e-3)


class Trainer:
    def __init__(self, model, teacher):
        self.model, self.teacher = model, teacher.eval()
        self.optimizer = build_optimizer(self.model)

    def train(self, distillation_loss, iterations=40):
        distillation_loss.register_hook()
        for i in range(iterations):
            labels = torch.randint(0, 4, (16,))
            images = torch.randn(16, 3, 12, 12) + labels.view(-1, 1, 1, 1)
            self.loss = F.cross_entropy(self.model(images), labels)
            with torch.no_grad():
                self.teacher(images)
            self.d_loss = distillation_loss.get_loss()
            self.optimizer.zero_grad()
            (self.loss + self.d_loss).backward()
            self.optimizer.step()
        print(self.loss.item(), self.d_loss.item())


# %%
student, teacher = Net(8), Net(16)
distillation_loss = DistillationLoss(student, teacher)
align_at_first = distillation_loss.D_loss_fn.align_module[0].weight.detach().clone()
trainer = Trainer(student, teacher)
trainer.train(distillation_loss)
