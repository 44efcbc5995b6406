# https://forum.pyro.ai/t/try-to-understand-param-with-constraints/4761
import torch
from torch import tensor
from torch.distributions import Normal, constraints, transform_to
from torch.optim import Adam

torch.manual_seed(0)


class ParamStore:
    """A parameter is kept without its constraint, and is told with it."""

    def __init__(self):
        self._params, self._constraints = {}, {}

    def param(self, name, init=None, constraint=constraints.real):
        if name not in self._params:
            with torch.no_grad():
                unconstrained = transform_to(constraint).inv(init).clone()
            self._params[name] = unconstrained.requires_grad_(True)
            self._constraints[name] = constraint
        return transform_to(self._constraints[name])(self._params[name])

    def unconstrained(self, name):
        return self._params[name]


store = ParamStore()
param = store.param


def model(x):
    mu = param("mu", tensor(1.), constraint=constraints.greater_than(0))
    return Normal(mu, 1).log_prob(x)


# %%
model(tensor(5.0))  # Instantiate the mu parameter
mus = []
losses = []

# %%
optimizer = Adam([param("mu")], lr=0.01)
for _ in range(100):
    # Optimizer wants to push positive values towards zero,
    # so use negative log probability
    prob = -model(tensor(5.0))
    prob.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(prob.item())
    mus.append(param("mu").item())
print(mus[-1], losses[-1])
