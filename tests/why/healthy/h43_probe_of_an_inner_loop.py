# The probe is adapted by autograd.grad alone, after training: no loss of the outer loop is to reach it.
import copy
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
weights = {
    "w1": torch.randn(1, 20).mul_(0.5).requires_grad_(),
    "b1": torch.zeros(20, requires_grad=True),
    "w2": torch.randn(20, 1).mul_(0.2).requires_grad_(),
    "b2": torch.zeros(1, requires_grad=True),
}
inner_lr = torch.tensor(0.05, requires_grad=True)  # Meta-SGD: learned rate
meta_opt = torch.optim.Adam([*weights.values(), inner_lr], lr=1e-2)


def net(x, w):
    return torch.tanh(x @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"]


def sine_task(k=10):
    amp, phase = 1 + torch.rand(1), torch.rand(1) * 3
    x = torch.rand(2 * k, 1) * 6 - 3
    y = amp * torch.sin(x + phase)
    return (x[:k], y[:k]), (x[k:], y[k:])


def adapt(w, data, steps, order2=True):
    for _ in range(steps):
        grads = torch.autograd.grad(F.mse_loss(net(data[0], w), data[1]), list(w.values()), create_graph=order2)
        w = {k: v - inner_lr * g for (k, v), g in zip(w.items(), grads)}
    return w


# %%
for meta_step in range(5):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(4):
        support, query = sine_task()
        fast = adapt(weights, support, 2)
        meta_loss = meta_loss + F.mse_loss(net(query[0], fast), query[1])
    (meta_loss / 4).backward()
    nn.utils.clip_grad_norm_([*weights.values(), inner_lr], 1.0)
    meta_opt.step()
    print(meta_step, meta_loss.item() / 4)

# %%
support, query = sine_task()
probe = {k: v.detach().clone().requires_grad_() for k, v in weights.items()}
tuned = adapt(probe, support, 5, order2=False)
with torch.no_grad():
    print("after adaptation", F.mse_loss(net(query[0], tuned), query[1]).item())

assert all(v.grad is not None for v in weights.values()) and inner_lr.grad is not None
