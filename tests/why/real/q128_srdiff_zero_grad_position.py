# https://github.com/LeiaLi/SRDiff/issues/15
import torch
from torch import nn

model = nn.Linear(4, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
train_dataloader = [torch.randn(3, 4) for _ in range(3)]

# %%
for batch in train_dataloader:
    model.train()
    losses = {'l1': (model(batch) - batch).abs().mean()}
    total_loss = sum(losses.values())
    wanted, = torch.autograd.grad(total_loss, model.weight, retain_graph=True)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()

# %%
print((model.weight.grad - wanted).abs().max())
