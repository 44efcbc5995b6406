# https://github.com/saltoricristiano/cosmix-uda/issues/21
import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class MomentumUpdater:
    def __init__(self, base_tau=0.9):
        self.cur_tau = base_tau

    @torch.no_grad()
    def update(self, online_net: nn.Module, momentum_net: nn.Module):
        """Performs the momentum update for each param group.
        Args:
            online_net (nn.Module): online network (e.g. online backbone, online projection, etc...).
            momentum_net (nn.Module): momentum network (e.g. momentum backbone,
                momentum projection, etc...).
        """
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):
            mp.data.mul_(self.cur_tau)
            mp.data.add_(op.data * (1 - self.cur_tau))


class MinkUNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv0 = nn.Linear(6, 32)
        self.bn0 = nn.BatchNorm1d(32)
        self.final = nn.Linear(32, classes)

    def forward(self, x):
        return self.final(F.relu(self.bn0(self.conv0(x))))


# %%
student = MinkUNet()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
teacher.eval()
momentum_updater = MomentumUpdater()
optimizer = torch.optim.SGD(student.parameters(), lr=0.05)

source_labels = torch.randint(0, 4, (200,))
source_points = torch.randn(200, 6) * 0.5 + 3 * F.one_hot(source_labels, 6) + 4.0
target_points = torch.randn(200, 6) * 0.5 + 3 * F.one_hot(source_labels, 6) + 4.5

# %%
for step in range(60):
    student.train()
    with torch.no_grad():
        probs, target_pseudo = F.softmax(teacher(target_points), dim=-1).max(-1)
    keep = probs > 0.85
    loss = F.cross_entropy(student(source_points), source_labels)
    if keep.any():
        loss = loss + 0.1 * F.cross_entropy(student(target_points)[keep], target_pseudo[keep])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    momentum_updater.update(student, teacher)

student.eval()
student_acc = (student(source_points).argmax(1) == source_labels).float().mean().item()
teacher_acc = (teacher(source_points).argmax(1) == source_labels).float().mean().item()
print(student_acc, teacher_acc)
