# https://github.com/YU1ut/MixMatch-pytorch/pull/23
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


# %%
class WeightEMA(object):
    def __init__(self, model, ema_model, lr=0.002, alpha=0.999):
        self.model = model
        self.ema_model = ema_model
        self.alpha = alpha
        self.params = list(model.parameters())
        self.ema_params = list(ema_model.parameters())
        self.wd = 0.02 * lr

        for param, ema_param in zip(self.params, self.ema_params):
            param = ema_param

    def step(self):
        one_minus_alpha = 1.0 - self.alpha
        for param, ema_param in zip(self.params, self.ema_params):
            ema_param.data.mul_(self.alpha)
            ema_param.data.add_(param.data * one_minus_alpha)
            # customized weight decay
            param.data.mul_(1 - self.wd)


def create_model(ema=False):
    model = nn.Sequential(nn.Flatten(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


model = create_model()
ema_model = create_model(ema=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
ema_optimizer = WeightEMA(model, ema_model, lr=0.002, alpha=0.999)
started_apart = sum((p - q).abs().sum().item() for p, q in zip(model.parameters(), ema_model.parameters()))

# %%
inputs_x, targets_x = torch.randn(32, 3, 4, 4), torch.randint(0, 10, (32,))
for batch_idx in range(20):
    loss = F.cross_entropy(model(inputs_x), targets_x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_optimizer.step()
print(loss.item(), F.cross_entropy(ema_model(inputs_x), targets_x).item())
