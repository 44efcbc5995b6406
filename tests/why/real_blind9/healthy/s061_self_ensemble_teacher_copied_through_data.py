# https://github.com/Britefury/self-ensemble-visual-domain-adapt/issues/6
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class OldWeightEMA (object):
    """
    Exponential moving average weight optimizer for mean teacher model
    """
    def __init__(self, target_net, source_net, alpha=0.999):
        self.target_params = list(target_net.parameters())
        self.source_params = list(source_net.parameters())
        self.alpha = alpha

        for p, src_p in zip(self.target_params, self.source_params):
            p.data[:] = src_p.data[:]

    def step(self):
        one_minus_alpha = 1.0 - self.alpha
        for p, src_p in zip(self.target_params, self.source_params):
            p.data.mul_(self.alpha)
            p.data.add_(src_p.data * one_minus_alpha)


def make_net():
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))


# %%
student_net, teacher_net = make_net(), make_net()
teacher_params = list(teacher_net.parameters())
for param in teacher_params:
    param.requires_grad = False
student_optimizer = torch.optim.Adam(student_net.parameters(), lr=1e-3)
teacher_optimizer = OldWeightEMA(teacher_net, student_net, alpha=0.99)
started_apart = sum((p - q).abs().sum().item() for p, q in zip(teacher_params, student_net.parameters()))

# %%
for _ in range(4):
    X_src, y_src, X_tgt = torch.randn(16, 12), torch.randint(0, 3, (16,)), torch.randn(16, 12)
    student_optimizer.zero_grad()
    clf_loss = F.cross_entropy(student_net(X_src), y_src)
    student_prob = F.softmax(student_net(X_tgt + 0.1 * torch.randn_like(X_tgt)), dim=1)
    teacher_prob = F.softmax(teacher_net(X_tgt + 0.1 * torch.randn_like(X_tgt)), dim=1)
    loss = clf_loss + 3.0 * ((student_prob - teacher_prob) ** 2).mean()
    loss.backward()
    student_optimizer.step()
    teacher_optimizer.step()
