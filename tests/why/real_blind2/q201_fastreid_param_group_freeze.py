# https://github.com/JDAI-CV/fast-reid/issues/178
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import Optimizer


class Adam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super(Adam, self).__init__(params, defaults)

    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()

        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None or group['freeze']:
                    continue
                grad = p.grad.data
                state = self.state[p]
                if len(state) == 0:
                    state['step'] = 0
                    state['exp_avg'] = torch.zeros_like(p.data)
                    state['exp_avg_sq'] = torch.zeros_like(p.data)
                beta1, beta2 = group['betas']
                state['step'] += 1
                if group['weight_decay'] != 0:
                    grad.add_(p.data, alpha=group['weight_decay'])
                state['exp_avg'].mul_(beta1).add_(grad, alpha=1 - beta1)
                state['exp_avg_sq'].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                correction1 = 1 - beta1 ** state['step']
                correction2 = 1 - beta2 ** state['step']
                denom = state['exp_avg_sq'].sqrt().add_(group['eps'])
                step_size = group['lr'] * math.sqrt(correction2) / correction1
                p.data.addcdiv_(state['exp_avg'], denom, value=-step_size)
        return loss


# %%
class Baseline(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.heads = nn.Linear(8, num_classes)

    def forward(self, images):
        return self.heads(self.backbone(images))


def build_optimizer(model, base_lr=3.5e-3, weight_decay=5e-4):
    params = []
    for key, value in model.named_parameters():
        if not value.requires_grad:
            continue
        lr = base_lr * 2 if "bias" in key else base_lr
        params += [{"name": key, "params": [value], "lr": lr, "weight_decay": weight_decay, "freeze": False}]
    return Adam(params)


class FreezeLayer:
    def __init__(self, optimizer, freeze_layers, freeze_iters):
        self.optimizer = optimizer
        self.freeze_layers = freeze_layers
        self.freeze_iters = freeze_iters

    def before_step(self, iteration):
        for param_group in self.optimizer.param_groups:
            if param_group["name"].split(".")[0] in self.freeze_layers:
                param_group["freeze"] = iteration < self.freeze_iters


# %%
model = Baseline(num_classes=5)
optimizer = build_optimizer(model)
hook = FreezeLayer(optimizer, ["backbone"], freeze_iters=20)
backbone_before = [p.detach().clone() for p in model.backbone.parameters()]

# %%
model.train()
for iteration in range(4):
    hook.before_step(iteration)
    images, targets = torch.randn(16, 12), torch.randint(5, (16,))
    losses = F.cross_entropy(model(images), targets)
    optimizer.zero_grad()
    losses.backward()
    optimizer.step()

# %%
for param_group in optimizer.param_groups:
    print(param_group["name"], param_group["freeze"], param_group["params"][0].requires_grad)
