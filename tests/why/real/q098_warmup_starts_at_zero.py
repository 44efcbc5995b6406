# https://github.com/huggingface/transformers/issues/34754
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def _get_linear_schedule_with_warmup_lr_lambda(current_step, num_warmup_steps=10, num_training_steps=100):
    if current_step < num_warmup_steps:
        return float(current_step) / float(max(1, num_warmup_steps))
    return max(0.0, float(num_training_steps - current_step) / float(max(1, num_training_steps - num_warmup_steps)))


model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = LambdaLR(optimizer, _get_linear_schedule_with_warmup_lr_lambda)
before = model.weight.detach().clone()

# %%
loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
loss.backward()
optimizer.step()

# %%
print(torch.equal(before, model.weight))
