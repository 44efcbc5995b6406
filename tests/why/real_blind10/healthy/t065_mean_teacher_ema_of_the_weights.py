# https://github.com/CuriousAI/mean-teacher/issues/28
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


def softmax_mse_loss(input_logits, target_logits):
    input_softmax = F.softmax(input_logits, dim=1)
    target_softmax = F.softmax(target_logits, dim=1)
    return F.mse_loss(input_softmax, target_softmax, reduction='sum') / input_logits.size()[1]


def update_ema_variables(model, ema_model, alpha, global_step):
    # Use the true average until the exponential average is more correct
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


# %%
model, ema_model = create_model(), create_model(ema=True)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
target = torch.randint(0, 3, (40,))
input = torch.randn(40, 8) + 2 * F.one_hot(target, 8)
target[10:] = -1
class_criterion = nn.CrossEntropyLoss(reduction='sum', ignore_index=-1)
teacher_start = ema_model[0].weight.clone()

global_step = 0
model.train()
ema_model.train()
for epoch in range(8):
    ema_logit = ema_model(input + 0.1 * torch.randn_like(input))
    class_logit = model(input + 0.1 * torch.randn_like(input))
    ema_logit = ema_logit.detach()

    class_loss = class_criterion(class_logit, target) / 40
    consistency_loss = 10.0 * softmax_mse_loss(class_logit, ema_logit) / 40
    loss = class_loss + consistency_loss

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    global_step += 1
    update_ema_variables(model, ema_model, 0.95, global_step)
    print(epoch, class_loss.item(), consistency_loss.item())
