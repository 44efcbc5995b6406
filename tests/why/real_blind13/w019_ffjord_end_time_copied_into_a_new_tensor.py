# https://github.com/rtqichen/ffjord/pull/4
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class ODEfunc(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, t, states):
        z, _ = states
        with torch.enable_grad():
            z = z if z.requires_grad else z.requires_grad_(True)
            dz = self.net(torch.cat([z, t.expand(z.shape[0], 1)], 1))
            divergence = 0.0
            for i in range(z.shape[1]):
                divergence = divergence + torch.autograd.grad(dz[:, i].sum(), z, create_graph=True)[0][:, i:i + 1]
        return dz, -divergence


def odeint(func, states, times, steps=8):
    dt = (times[1] - times[0]) / steps
    t = times[0]
    for _ in range(steps):
        changes = func(t, states)
        states = tuple(s + dt * c for s, c in zip(states, changes))
        t = t + dt
    return states


class CNF(nn.Module):
    def __init__(self, odefunc, T=1.0, train_T=False):
        super(CNF, self).__init__()
        if train_T:
            self.register_parameter("sqrt_end_time", nn.Parameter(torch.sqrt(torch.tensor(T))))
        else:
            self.register_buffer("sqrt_end_time", torch.sqrt(torch.tensor(T)))
        self.odefunc = odefunc

    def forward(self, z, logpz=None, integration_times=None):
        _logpz = torch.zeros(z.shape[0], 1).to(z) if logpz is None else logpz
        if integration_times is None:
            integration_times = torch.tensor([0.0, self.sqrt_end_time * self.sqrt_end_time]).to(z)
        return odeint(self.odefunc, (z, _logpz), integration_times)


def sample_moons(n):
    angle, which = torch.rand(n, 1) * math.pi, torch.randint(0, 2, (n, 1)).float()
    x = torch.cos(angle) * (1 - 2 * which) + which
    y = torch.sin(angle) * (1 - 2 * which) + 0.5 * which
    return torch.cat([x, y], 1) + 0.05 * torch.randn(n, 2)


# %%
cnf = CNF(ODEfunc(), T=0.5, train_T=True)
optimizer = torch.optim.Adam(cnf.parameters(), lr=1e-2)
for itr in range(15):
    optimizer.zero_grad()
    z, delta_logp = cnf(sample_moons(64), torch.zeros(64, 1))
    logpz = (-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)).sum(1, keepdim=True)
    loss = -torch.mean(logpz - delta_logp)
    loss.backward()
    optimizer.step()
print(loss.item(), "end time:", cnf.sqrt_end_time.item() ** 2)
