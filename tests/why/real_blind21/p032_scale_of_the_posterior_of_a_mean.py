# https://forum.pyro.ai/t/scale-of-normal-posterior-and-observed-data-points
import numpy as np
import torch
import torch.distributions as dist
import torch.nn as nn
import torch.nn.functional as F

SEED = 1337
torch.manual_seed(0)
np.random.seed(SEED)


class Trace:
    def __init__(self, values):
        self.values, self.log_prob = values, 0.

    def sample(self, name, fn, obs=None):
        value = self.values[name] if obs is None else obs
        self.log_prob = self.log_prob + fn.log_prob(value).sum()
        return value


class AutoNormal(nn.Module):
    def __init__(self, names, init_scale=0.1):
        super().__init__()
        self.locs = nn.ParameterDict({name: torch.tensor(0.0) for name in names})
        start = torch.tensor(init_scale).expm1().log()
        self.unconstrained = nn.ParameterDict({name: start.clone() for name in names})

    def scale(self, name):
        return F.softplus(self.unconstrained[name])

    def forward(self):
        values, log_prob = {}, 0.
        for name in self.locs:
            q = dist.Normal(self.locs[name], self.scale(name))
            values[name] = q.rsample()
            log_prob = log_prob + q.log_prob(values[name])
        return values, log_prob


class SVI:
    def __init__(self, model, guide, optimizer):
        self.model, self.guide, self.optimizer = model, guide, optimizer

    def step(self, x):
        values, guide_log_prob = self.guide()
        trace = Trace(values)
        self.model(trace, x)
        loss = guide_log_prob - trace.log_prob
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


# %%
def load_data(num_points, mu, sigma):
    x = np.random.randn(num_points)
    return mu + sigma * x


def model(pyro, x):
    m0 = torch.tensor(0.0)
    s0 = torch.tensor(10.0)
    m = pyro.sample("m", dist.Normal(m0, s0))
    s = torch.tensor(1.0)
    pyro.sample("x", dist.Normal(m, s), obs=torch.tensor(x))


guide = AutoNormal(["m"])
optimizer = torch.optim.Adam(guide.parameters(), lr=0.01)
svi = SVI(model, guide, optimizer)

# %%
data = load_data(1500, 3, 1)
for it, x in enumerate(data):
    nll = svi.step(x)
    if it % 100 == 0:
        print(f"{it:5d} | {nll:+8.3f} | {guide.locs['m'].item():6.2f} {guide.scale('m').item():6.3f}")

estimated = guide.locs["m"].item(), guide.scale("m").item()
expected = (1 / (1 / 10.0**2 + len(data))) ** 0.5
print("estimated:  ", estimated, "expected scale:", expected)
