# https://github.com/rtqichen/torchdiffeq/blob/master/examples/learn_physics.py
import torch
import torch.nn as nn

torch.manual_seed(0)


def odeint(func, state, t0, t1, steps=8):
    dt = (t1 - t0) / steps
    for _ in range(steps):
        k1 = func(t0, state)
        k2 = func(t0, tuple(s + dt / 2 * k for s, k in zip(state, k1)))
        state = tuple(s + dt * k for s, k in zip(state, k2))
    return state


def odeint_event(func, state, t0, t_end, event_fn):
    with torch.no_grad():
        low, high = t0 + 1e-4, t_end
        if event_fn(odeint(func, state, t0, high)) > 0:
            return None
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if event_fn(odeint(func, state, t0, middle)) > 0 else (low, middle)
    # one step of Newton's method, for the gradient of the time with respect to all else
    state_t = odeint(func, state, t0, high)
    with torch.no_grad():
        slope = func(high, state_t)[0]
    return high - event_fn(state_t) / slope


class HamiltonianDynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.dvel = nn.Linear(1, 1)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, t, state):
        pos, vel = state
        return vel, torch.tanh(self.dvel(torch.zeros_like(vel))) * self.scale


class NeuralPhysics(nn.Module):
    def __init__(self):
        super().__init__()
        self.initial_pos = nn.Parameter(torch.tensor([9.0]))
        self.initial_vel = nn.Parameter(torch.tensor([0.0]))
        self.dynamics_fn = HamiltonianDynamics()
        self.radius = nn.Parameter(torch.tensor(0.3))
        self.inst_update = nn.Linear(1, 1)
        nn.init.constant_(self.dynamics_fn.dvel.bias, -0.8)

    def event_fn(self, state):
        return state[0] - self.radius ** 2

    def simulate(self, times):
        t0, state = torch.zeros(1).to(times), (self.initial_pos, self.initial_vel)
        trajectory, event_times = [], []
        while len(event_times) < 3:
            event_t = odeint_event(self.dynamics_fn, state, t0, times[-1:], self.event_fn)
            end = times[-1:] + 1.0 if event_t is None else event_t
            interval_ts = times[(times > t0) & (times <= end)]
            trajectory.append(odeint(self.dynamics_fn, state, t0, interval_ts[:, None])[0].reshape(-1))
            if event_t is None:
                break
            pos, vel = odeint(self.dynamics_fn, state, t0, event_t)
            # update velocity instantaneously
            state = (pos, -torch.sigmoid(self.inst_update(torch.ones_like(vel))) * vel)
            event_times.append(event_t)
            t0 = event_t
        return torch.cat(trajectory), event_times


# %%
obs_times = torch.linspace(0.05, 3.0, 40, dtype=torch.float64)
first = (2 * 10.0 / 9.8) ** 0.5
fall = 10.0 - 4.9 * obs_times ** 2
since = (obs_times - first).clamp(min=0)
gt_trajectory = torch.where(obs_times <= first, fall, 0.8 * 9.8 * first * since - 4.9 * since ** 2)

model = NeuralPhysics().double()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

# %%
losses = []
for itr in range(80):
    optimizer.zero_grad()
    trajectory, event_times = model.simulate(obs_times)
    loss = (trajectory - gt_trajectory[:len(trajectory)]).abs().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if itr % 20 == 0:
        print(itr, loss.item(), len(event_times))

assert losses[-1] < 0.3 * losses[0] and len(event_times) >= 1
