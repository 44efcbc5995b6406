# https://github.com/CuriousAI/mean-teacher/blob/master/pytorch/main.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NO_LABEL = -1


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


def update_ema_variables(model, ema_model, alpha, global_step):
    # Use the true average until the exponential average is more correct
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


# %%
model, ema_model = create_model(), create_model(ema=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
class_criterion = nn.CrossEntropyLoss(reduction="sum", ignore_index=NO_LABEL)
first = ema_model[0].weight.clone()

# %%
global_step = 0
model.train()
ema_model.train()
for i in range(4):
    input = torch.randn(16, 16)
    ema_input, target = input + 0.1 * torch.randn(16, 16), torch.randint(0, 4, (16,))
    target[8:] = NO_LABEL
    with torch.no_grad():
        ema_logit = ema_model(ema_input)
    class_logit = model(input)
    ema_logit = ema_logit.detach()
    class_loss = class_criterion(class_logit, target) / 16
    consistency_loss = F.mse_loss(F.softmax(class_logit, 1), F.softmax(ema_logit, 1), reduction="sum") / 4 / 16
    loss = class_loss + consistency_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    global_step += 1
    update_ema_variables(model, ema_model, 0.97, global_step)
    print(loss.item())
