# https://github.com/huggingface/transformers/issues/1563
from types import SimpleNamespace

import torch
from torch import nn

args = SimpleNamespace(gradient_accumulation_steps=3, max_grad_norm=1.0)
model = nn.Linear(4, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
epoch_iterator = [(torch.randn(6, 4), 20 * torch.randn(6, 1)) for _ in range(3)]
seen = []
optimizer.register_step_pre_hook(lambda *_: seen.append(model.weight.grad.clone()))
total = sum(torch.autograd.grad(nn.functional.mse_loss(model(x), y), model.weight)[0] for x, y in epoch_iterator) / 3
wanted = total / total.norm() * args.max_grad_norm

# %%
model.zero_grad()
for step, (x, y) in enumerate(epoch_iterator):
    loss = nn.functional.mse_loss(model(x), y)
    if args.gradient_accumulation_steps > 1:
        loss = loss / args.gradient_accumulation_steps
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
    if (step + 1) % args.gradient_accumulation_steps == 0:
        optimizer.step()
        model.zero_grad()

# %%
print(seen[0], wanted)
