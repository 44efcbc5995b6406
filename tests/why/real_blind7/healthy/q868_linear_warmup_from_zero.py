# https://github.com/huggingface/transformers/blob/main/src/transformers/optimization.py
import torch
import torch.nn as nn
from functools import partial
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)


def _get_linear_schedule_with_warmup_lr_lambda(current_step, *, num_warmup_steps, num_training_steps):
    if current_step < num_warmup_steps:
        return float(current_step) / float(max(1, num_warmup_steps))
    return max(0.0, float(num_training_steps - current_step) / float(max(1, num_training_steps - num_warmup_steps)))


model = nn.Linear(8, 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-2)
lr_lambda = partial(_get_linear_schedule_with_warmup_lr_lambda, num_warmup_steps=3, num_training_steps=10)
lr_scheduler = LambdaLR(optimizer, lr_lambda)
before = model.weight.detach().clone()

# %%
for step in range(8):
    x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    lr_scheduler.step()
    if step < 7:
        model.zero_grad()
    print(step, lr_scheduler.get_last_lr()[0], loss.item())
