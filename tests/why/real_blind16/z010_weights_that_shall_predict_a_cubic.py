# https://stats.stackexchange.com/questions/594738
import numpy as np
import torch

np.random.seed(0)

x = np.linspace(-10, 10, 100)
y = x**3 + x**2 + x

loss_fn = torch.nn.MSELoss(reduction='sum')


def get_trgts(i):
    return torch.tensor(y[i:])


def get_weights(i, o):
    return torch.tensor(np.random.normal(0, 3, (o, i))).requires_grad_()


def get_params(i):
    return torch.tensor(y[:i])


weights = get_weights(80, 20)
trgts = get_trgts(80)
params = get_params(80)
bias = get_weights(1, 1)
lr = 1e-6
history = []


def apply_step(weights, bias, prn=True):
    preds = weights @ params + bias
    loss = loss_fn(preds, trgts)
    loss.backward()
    with torch.no_grad():
        weights -= weights.grad * lr
        bias -= bias.grad * lr
        weights.grad.zero_()
        bias.grad.zero_()
    history.append(loss.item())
    if prn:
        print(loss.item())
    return preds


# %%
for i in range(10):
    apply_step(weights, bias)
