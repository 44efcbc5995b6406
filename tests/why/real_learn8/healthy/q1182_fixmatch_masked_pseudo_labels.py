# https://github.com/kekmodel/FixMatch-pytorch/blob/master/train.py
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(5)


class ModelEMA:
    def __init__(self, model, decay):
        self.ema = deepcopy(model)
        self.ema.eval()
        self.decay = decay
        self.param_keys = [k for k, _ in self.ema.named_parameters()]
        self.buffer_keys = [k for k, _ in self.ema.named_buffers()]
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        with torch.no_grad():
            msd, esd = model.state_dict(), self.ema.state_dict()
            for k in self.param_keys:
                esd[k].copy_(esd[k] * self.decay + (1.0 - self.decay) * msd[k].detach())
            for k in self.buffer_keys:
                esd[k].copy_(msd[k])


model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
no_decay = ["bias", "1."]
grouped_parameters = [
    {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 5e-4},
    {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
]
optimizer = optim.SGD(grouped_parameters, lr=0.03, momentum=0.9, nesterov=True)
scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 10))
ema_model = ModelEMA(model, 0.999)
before = model[0].weight.detach().clone()

# %%
T, threshold, lambda_u = 1, 0.95, 1
for batch_idx in range(3):
    inputs_x, targets_x = torch.randn(4, 8), torch.randint(0, 4, (4,))
    inputs_u_w, inputs_u_s = torch.randn(8, 8), torch.randn(8, 8)
    logits = model(torch.cat((inputs_x, inputs_u_w, inputs_u_s)))
    logits_x = logits[:4]
    logits_u_w, logits_u_s = logits[4:].chunk(2)
    del logits
    Lx = F.cross_entropy(logits_x, targets_x, reduction="mean")
    pseudo_label = torch.softmax(logits_u_w.detach() / T, dim=-1)
    max_probs, targets_u = torch.max(pseudo_label, dim=-1)
    mask = max_probs.ge(threshold).float()
    Lu = (F.cross_entropy(logits_u_s, targets_u, reduction="none") * mask).mean()
    loss = Lx + lambda_u * Lu
    loss.backward()
    optimizer.step()
    scheduler.step()
    ema_model.update(model)
    model.zero_grad()
    print(loss.item(), Lx.item(), Lu.item(), mask.mean().item())
test_model = ema_model.ema
with torch.no_grad():
    test_model.eval()
    print(test_model(inputs_x).argmax(1))
