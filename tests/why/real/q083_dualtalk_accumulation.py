# https://github.com/ZiqiaoPeng/DualTalk/issues/9
from types import SimpleNamespace

import torch
import torch.nn as nn

args = SimpleNamespace(gradient_accumulation_steps=4)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
train_loader = [(torch.randn(3, 5), torch.randn(3, 1)) for _ in range(4)]
seen, micro, loss_log = [], [], []
optimizer.register_step_pre_hook(lambda *_: seen.append(model.weight.grad.clone()))

# %%
for i, (x, y) in enumerate(train_loader, 1):
    loss = nn.functional.mse_loss(model(x), y)
    micro.append(torch.autograd.grad(loss, model.weight, retain_graph=True)[0])
    optimizer.zero_grad()
    loss.backward()
    loss_log.append(loss.item())
    if i % args.gradient_accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()

# %%
print(seen[0], micro[-1], sum(micro))
