# https://github.com/lloongx/SFDA-CBMT/issues/3
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DeepLab(nn.Module):
    def __init__(self, num_classes=2):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        return self.conv2(F.relu(self.bn1(self.conv1(x))))


def update_ema(model_teacher, model_student, alpha=0.98):
    for t, s in zip(model_teacher.parameters(), model_student.parameters()):
        t.data.mul_(alpha).add_(s.data, alpha=1 - alpha)


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return torch.sigmoid(model(data))


# %%
model_student = DeepLab()
model_teacher = copy.deepcopy(model_student)
for param in model_teacher.parameters():
    param.requires_grad = False
optim = torch.optim.Adam(model_student.parameters(), lr=1e-3)
imgs_w = torch.randn(12, 3, 16, 16) * 2 + 1
test_data = torch.randn(4, 3, 16, 16)

# %%
teacher_scores = [evaluate(model_teacher, test_data)]
for epoch in range(3):
    model_student.train()
    model_teacher.train()
    for img_w in imgs_w.split(4):
        img_s = img_w + 0.1 * torch.randn_like(img_w)
        with torch.no_grad():
            pseudo_label = (torch.sigmoid(model_teacher(img_w)) > 0.5).float()
        prediction = model_student(img_s)
        loss = F.binary_cross_entropy_with_logits(prediction, pseudo_label)
        optim.zero_grad()
        loss.backward()
        optim.step()
        # update_ema(model_teacher, model_student)
    teacher_scores.append(evaluate(model_teacher, test_data))
    print(epoch, loss.item(), (teacher_scores[-1] - teacher_scores[0]).abs().max().item())
