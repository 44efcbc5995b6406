# https://github.com/Tony-Y/pytorch_warmup/issues/12
import torch
import torch.nn as nn

model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
lr_scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=5)
before = model.weight.detach().clone()

# %%
for batch in range(5):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    lr_scheduler.step()

# %%
print(torch.equal(before, model.weight), model.weight.grad)
