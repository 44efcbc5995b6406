# https://github.com/Lightning-AI/litgpt/issues/779
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

learning_rate = 3e-3
batch_size = 1
micro_batch_size = 1
gradient_accumulation_iters = max(64 // batch_size, 1)
warmup_steps = 10
max_iters = 8

model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
before = model[1].weight.detach().clone()

# %%
step_count = 0
for iter_num in range(1, max_iters + 1):
    if step_count <= warmup_steps:
        lr = learning_rate * step_count / warmup_steps
        for param_group in optimizer.param_groups:
            param_group["lr"] = lr
    input_ids = torch.randint(20, (micro_batch_size, 12))
    targets = torch.randint(20, (micro_batch_size, 12))
    is_accumulating = batch_size == 1 or iter_num % gradient_accumulation_iters != 0
    logits = model(input_ids)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    (loss / gradient_accumulation_iters).backward()
    if not is_accumulating:
        optimizer.step()
        optimizer.zero_grad()
        step_count += 1
    print(iter_num, loss.item(), optimizer.param_groups[0]["lr"])
