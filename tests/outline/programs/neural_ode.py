from itertools import pairwise

import torch
import torch.nn as nn

torch.manual_seed(0)


class ODEFunc(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y**3)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, t):
    solution = [y0]
    for t0, t1 in pairwise(t):
        solution.append(rk4_step(func, t0, t1 - t0, solution[-1]))
    return torch.stack(solution)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 2.0, 40)
with torch.no_grad():
    true_y = odeint(lambda t, y: y**3 @ true_A, torch.tensor([[2.0, 0.0]]), t)


def get_batch(batch_time=10, batch_size=16):
    s = torch.randint(0, len(t) - batch_time, (batch_size,))
    batch_y = torch.stack([true_y[s + i] for i in range(batch_time)], dim=0)
    return true_y[s], t[:batch_time], batch_y


func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
# %% the recorded cell
optimizer.zero_grad()
batch_y0, batch_t, batch_y = get_batch()
pred_y = odeint(func, batch_y0, batch_t)
loss = torch.mean(torch.abs(pred_y - batch_y))
loss.backward()
optimizer.step()
