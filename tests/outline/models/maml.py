# One step of MAML by hand: two tasks, an inner step each, through which the outer one goes
import torch
from torch.nn import functional as F

torch.manual_seed(0)
w1 = (0.3 * torch.randn(4, 16)).requires_grad_()
b1 = torch.zeros(16, requires_grad=True)
w2 = (0.3 * torch.randn(16, 1)).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
params = [w1, b1, w2, b2]
opt = torch.optim.SGD(params, lr=0.01)
tasks = [
    (torch.randn(6, 4), torch.randn(6, 1), torch.randn(6, 4), torch.randn(6, 1)) for _ in range(2)
]


def net(x, ps):
    return torch.tanh(x @ ps[0] + ps[1]) @ ps[2] + ps[3]


# %% the recorded cell
opt.zero_grad()
outer = []
for xs, ys, xq, yq in tasks:
    inner = F.mse_loss(net(xs, params), ys)
    grads = torch.autograd.grad(inner, params, create_graph=True)
    fast = [p - 0.1 * g for p, g in zip(params, grads, strict=True)]
    outer.append(F.mse_loss(net(xq, fast), yq))
loss = torch.stack(outer).mean()
loss.backward()
opt.step()
