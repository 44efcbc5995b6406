# https://github.com/fadel/pytorch_ema/blob/master/torch_ema/ema.py
from __future__ import division
from __future__ import unicode_literals

import copy

import torch
import torch.nn.functional as F

torch.manual_seed(0)


class ExponentialMovingAverage:
    """
    Maintains (exponential) moving average of a set of parameters.
    """
    def __init__(self, parameters, decay, use_num_updates=True):
        if decay < 0.0 or decay > 1.0:
            raise ValueError('Decay must be between 0 and 1')
        self.decay = decay
        self.num_updates = 0 if use_num_updates else None
        self.shadow_params = [p.clone().detach()
                              for p in parameters if p.requires_grad]

    def update(self, parameters):
        """
        Update currently maintained parameters.

        Call this every time the parameters are updated, such as the result of
        the `optimizer.step()` call.
        """
        decay = self.decay
        if self.num_updates is not None:
            self.num_updates += 1
            decay = min(decay, (1 + self.num_updates) / (10 + self.num_updates))
        one_minus_decay = 1.0 - decay
        with torch.no_grad():
            parameters = [p for p in parameters if p.requires_grad]
            for s_param, param in zip(self.shadow_params, parameters):
                s_param.sub_(one_minus_decay * (s_param - param))

    def copy_to(self, parameters):
        """
        Copies current parameters into given collection of parameters.
        """
        for s_param, param in zip(self.shadow_params, parameters):
            if param.requires_grad:
                param.data.copy_(s_param.data)


# %%
teacher = torch.nn.Linear(10, 2)
for p in teacher.parameters():
    p.data.mul_(3)
x_train = torch.rand((200, 10))
y_train = (teacher(x_train) + 0.3 * torch.randn(200, 2)).argmax(1)
x_val = torch.rand((1000, 10))
y_val = teacher(x_val).argmax(1)

model = torch.nn.Linear(10, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
ema = ExponentialMovingAverage(model.parameters(), decay=0.99)

# %%
# Train for a few epochs
model.train()
losses, raw = [], []
for epoch in range(60):
    for idx in torch.randperm(200).split(10):
        logits = model(x_train[idx])
        loss = F.cross_entropy(logits, y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model.parameters())
        losses.append(loss.item())
    if epoch >= 40:
        with torch.no_grad():
            raw.append(F.cross_entropy(model(x_val), y_val).item())

# %%
# Compare: the last weights and their average
model.eval()
averaged = copy.deepcopy(model)
ema.copy_to(averaged.parameters())
with torch.no_grad():
    loss_ema = F.cross_entropy(averaged(x_val), y_val).item()
    acc_ema = (averaged(x_val).argmax(1) == y_val).float().mean().item()
loss_raw = sum(raw) / len(raw)
no_graph = all(s.grad_fn is None and not s.requires_grad for s in ema.shadow_params)
print(losses[0], losses[-1], loss_raw, loss_ema, acc_ema)
assert no_graph and loss_ema < loss_raw and acc_ema > 0.85 and averaged.weight.requires_grad
