# https://github.com/gabrielhuang/reptile-pytorch/issues/3
import math
import torch
from torch import nn

torch.manual_seed(0)


class SineModel(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.hidden = hidden
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)

    def clone(self):
        clone = SineModel(self.hidden)
        clone.load_state_dict(self.state_dict())
        return clone

    def point_grad_to(self, target):
        """sets .grad so that a step of the optimizer goes towards target"""
        for p, target_p in zip(self.parameters(), target.parameters()):
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            p.grad.data.add_(p.data - target_p.data)


class SineTask:
    def __init__(self):
        self.amplitude = 0.5 + 2 * torch.rand(1)
        self.phase = math.pi * torch.rand(1)

    def sample(self, n):
        x = 10 * torch.rand(n, 1) - 5
        return x, self.amplitude * torch.sin(x + self.phase)


def do_learning(net, optimizer, task, iterations, batch=10):
    loss_fn = nn.MSELoss()
    net.train()
    for _ in range(iterations):
        x, y = task.sample(batch)
        loss = loss_fn(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def adapted_error(meta_net, n_tasks=20):
    errors = []
    for _ in range(n_tasks):
        task, net = SineTask(), meta_net.clone()
        x, y = task.sample(10)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
        for _ in range(16):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            x, y = task.sample(100)
            errors.append(nn.functional.mse_loss(net(x), y).item())
    return sum(errors) / len(errors)


# %%
meta_net = SineModel()
meta_optimizer = torch.optim.SGD(meta_net.parameters(), lr=1.0)
error_before = adapted_error(meta_net)
meta_iterations, start_meta_lr = 200, 1.0

# %%
for meta_iteration in range(meta_iterations):
    for group in meta_optimizer.param_groups:
        group['lr'] = start_meta_lr * (1 - meta_iteration / meta_iterations)
    net = meta_net.clone()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    do_learning(net, optimizer, SineTask(), iterations=12)
    meta_optimizer.zero_grad()
    meta_net.point_grad_to(net)
    meta_optimizer.step()

# %%
error_after = adapted_error(meta_net)
print(error_before, error_after)
assert error_after < 0.8 * error_before
assert all(p.grad is not None and p.grad.grad_fn is None for p in meta_net.parameters())
