# https://github.com/Magritte-code/pomme/issues/2
import torch
from torch.optim import Adam

m = torch.arange(5.0, requires_grad=True)
optimizer = Adam([m], lr=0.1)

# %%
for it in range(2):
    f = 1 / m
    f[m == 0] = 1.0

    loss = torch.mean(f**2)

    optimizer.zero_grad()
    loss.backward()
    if it == 0:
        first_loss, first_grad = loss.item(), m.grad.clone()
    optimizer.step()
    print(it, loss.item(), m)
