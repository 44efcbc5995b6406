# https://github.com/ultralytics/yolov5/blob/master/train.py
import math
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn
from torch.optim import SGD, lr_scheduler

torch.manual_seed(0)


class ModelEMA:
    def __init__(self, model, decay=0.9999, tau=2000):
        self.ema = deepcopy(model).eval()
        self.updates, self.decay = 0, lambda x: decay * (1 - math.exp(-x / tau))
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        self.updates += 1
        d, msd = self.decay(self.updates), model.state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v *= d
                v += (1 - d) * msd[k].detach()


class ComputeLoss:
    def __init__(self):
        self.BCEcls, self.BCEobj = nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss()

    def __call__(self, p, targets):
        lbox, lobj, lcls = torch.zeros(1), torch.zeros(1), torch.zeros(1)
        tobj = torch.zeros_like(p[:, 4])
        b = targets[:, 0].long()
        pbox, pcls = p[b, :4].sigmoid(), p[b, 5:]
        iou = 1 - (pbox - targets[:, 2:]).abs().mean(1)
        lbox += (1.0 - iou).mean()
        iou = iou.detach().clamp(0).type(tobj.dtype)
        tobj[b] = iou
        t = torch.full_like(pcls, 0.0)
        t[range(len(b)), targets[:, 1].long()] = 1.0
        lcls += self.BCEcls(pcls, t)
        lobj += self.BCEobj(p[:, 4], tobj)
        return (lbox * 0.05 + lobj + lcls * 0.5) * len(p), torch.cat((lbox, lobj, lcls)).detach()


model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 8))
g = [], [], []
for v in model.modules():
    for p_name, p in v.named_parameters(recurse=False):
        if p_name == "bias":
            g[2].append(p)
        elif isinstance(v, nn.BatchNorm2d):
            g[1].append(p)
        else:
            g[0].append(p)
optimizer = SGD(g[2], lr=0.01, momentum=0.937, nesterov=True)
optimizer.add_param_group({"params": g[0], "weight_decay": 5e-4})
optimizer.add_param_group({"params": g[1], "weight_decay": 0.0})
epochs, nw, nbs, batch_size = 2, 4, 16, 8
lf = lambda x: (1 - x / epochs) * (1.0 - 0.01) + 0.01
for group in optimizer.param_groups:
    group["initial_lr"] = group["lr"]
scheduler = lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)
ema, compute_loss = ModelEMA(model), ComputeLoss()
before = model[0].weight.detach().clone()

# %%
last_opt_step, nb, accumulate = -1, 4, 1
for epoch in range(epochs):
    model.train()
    mloss = torch.zeros(3)
    optimizer.zero_grad()
    for i in range(nb):
        ni = i + nb * epoch
        imgs = torch.rand(batch_size, 3, 8, 8)
        targets = torch.cat([torch.arange(3)[:, None].float(), torch.randint(0, 3, (3, 1)).float(), torch.rand(3, 4)], 1)
        if ni <= nw:
            accumulate = max(1, np.interp(ni, [0, nw], [1, nbs / batch_size]).round())
            for j, x in enumerate(optimizer.param_groups):
                x["lr"] = np.interp(ni, [0, nw], [0.1 if j == 0 else 0.0, x["initial_lr"] * lf(epoch)])
                if "momentum" in x:
                    x["momentum"] = np.interp(ni, [0, nw], [0.8, 0.937])
        with torch.autocast("cpu", enabled=False):
            pred = model(imgs)
            loss, loss_items = compute_loss(pred, targets)
        loss.backward()
        if ni - last_opt_step >= accumulate:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
            optimizer.step()
            optimizer.zero_grad()
            ema.update(model)
            last_opt_step = ni
        mloss = (mloss * i + loss_items) / (i + 1)
    print(epoch, mloss)
    lr = [x["lr"] for x in optimizer.param_groups]
    scheduler.step()
