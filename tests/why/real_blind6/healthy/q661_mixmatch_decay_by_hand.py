# https://github.com/YU1ut/MixMatch-pytorch/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class WeightEMA(object):
    def __init__(self, model, ema_model, lr=0.002, alpha=0.999):
        self.model = model
        self.ema_model = ema_model
        self.alpha = alpha
        self.params = list(model.state_dict().values())
        self.ema_params = list(ema_model.state_dict().values())
        self.wd = 0.02 * lr

        for param, ema_param in zip(self.params, self.ema_params):
            param.data.copy_(ema_param.data)

    def step(self):
        one_minus_alpha = 1.0 - self.alpha
        for param, ema_param in zip(self.params, self.ema_params):
            if ema_param.dtype == torch.float32:
                ema_param.mul_(self.alpha)
                ema_param.add_(param * one_minus_alpha)
                # customized weight decay
                param.mul_(1 - self.wd)


def create_model(ema=False):
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


# %%
model = create_model()
ema_model = create_model(ema=True)
optimizer = optim.Adam(model.parameters(), lr=0.002)
ema_optimizer = WeightEMA(model, ema_model, lr=0.002, alpha=0.999)
before = model[0].weight.detach().clone()

# %%
model.train()
for batch_idx in range(4):
    inputs_x, targets_x, inputs_u = torch.rand(8, 3, 8, 8), F.one_hot(torch.randint(0, 4, (8,)), 4).float(), torch.rand(8, 3, 8, 8)
    with torch.no_grad():
        p = (torch.softmax(model(inputs_u), dim=1) + torch.softmax(model(inputs_u.flip(-1)), dim=1)) / 2
        pt = p ** (1 / 0.5)
        targets_u = (pt / pt.sum(dim=1, keepdim=True)).detach()
    logits_x, logits_u = model(inputs_x), model(inputs_u)
    Lx = -torch.mean(torch.sum(F.log_softmax(logits_x, dim=1) * targets_x, dim=1))
    Lu = torch.mean((torch.softmax(logits_u, dim=1) - targets_u) ** 2)
    loss = Lx + 0.75 * Lu
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_optimizer.step()
    print(batch_idx, Lx.item(), Lu.item())
