# https://github.com/neuropoly/domainadaptation/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def update_ema_variables(model, ema_model, alpha, global_step):
    # Use the true average until the exponential average is more correct
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


def sigmoid_rampup(current, rampup_length):
    current = min(current, rampup_length)
    phase = 1.0 - current / rampup_length
    return float(torch.exp(torch.tensor(-5.0 * phase * phase)))


class SegNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.amort = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return torch.sigmoid(self.amort(x))


def dice_loss(input, target):
    eps = 0.0001
    intersection = (input * target).sum()
    return -(2.0 * intersection + eps) / (input.sum() + target.sum() + eps)


def create_model(ema=False):
    model = SegNet()
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


def scans(n, contrast=1.0):
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing='ij')
    cy, cx = torch.rand(2, n, 1, 1) * 6 + 3
    gt = (((yy - cy) ** 2 + (xx - cx) ** 2) < 7).float().unsqueeze(1)
    return contrast * gt + 0.4 * torch.randn(n, 1, 12, 12), gt


# %%
model, model_ema = create_model(), create_model(ema=True)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
first_ema = [p.clone() for p in model_ema.parameters()]
global_step, consistency_weight, errors = 0, 2.0, []

# %%
for step in range(120):
    model.train()
    model_ema.train()
    source_input, source_gt = scans(8)
    target_input, _ = scans(8, contrast=0.7)
    preds = model(source_input)
    task_loss = dice_loss(preds, source_gt)
    with torch.no_grad():
        teacher_preds_unsup = model_ema(target_input + 0.1 * torch.randn_like(target_input))
    student_preds_unsup = model(target_input)
    consistency_loss = F.mse_loss(student_preds_unsup, teacher_preds_unsup)
    loss = task_loss + consistency_weight * sigmoid_rampup(step, 60) * consistency_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    old = [p.clone() for p in model_ema.parameters()]
    global_step += 1
    alpha = 0.9 if step < 60 else 0.97
    update_ema_variables(model, model_ema, alpha, global_step)
    used = min(1 - 1 / (global_step + 1), alpha)
    for o, e, p in zip(old, model_ema.parameters(), model.parameters()):
        errors.append((used * o + (1 - used) * p.detach() - e).abs().max().item())

# %%
with torch.no_grad():
    x, gt = scans(64, contrast=0.7)
    teacher_dice = -dice_loss((model_ema(x) > 0.5).float(), gt).item()
teacher_moved = max((a - b).abs().max().item() for a, b in zip(first_ema, model_ema.parameters()))
print(max(errors), teacher_moved, teacher_dice)
assert max(errors) < 1e-6
assert not any(p.requires_grad or p.grad is not None for p in model_ema.parameters())
assert teacher_moved > 0.05 and teacher_dice > 0.7
