# https://github.com/source-separation/tutorial/issues/28
import numpy as np
import torch

LEARNING_RATES = [0.01, 0.1]
losses = []

# %%
for lr in LEARNING_RATES:
    w = torch.tensor([3.0], requires_grad=True)
    history = []
    for _ in range(5):
        loss = (w ** 2).sum()
        g, = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= lr * g
        history.append(loss)
    losses.append(history)

# %%
for j, lr in enumerate(LEARNING_RATES):
    print(f'Learning rate: {lr}', [np.log10(value) for value in losses[j]])
