# https://forum.pyro.ai/t/beginner-question-on-svi-how-to-find-parameters-of-a-normal-distribution/3953
import numpy as np
import torch
import torch.distributions as dist

torch.manual_seed(0)
np.random.seed(0)


class pyro:
    store = {}
    trace = None  # (values to replay, log probabilities, values)

    @staticmethod
    def param(name, init):
        if name not in pyro.store:
            pyro.store[name] = init.clone().requires_grad_()
        return pyro.store[name]

    @staticmethod
    def sample(name, fn, obs=None):
        replayed, log_probs, values = pyro.trace
        if obs is not None:
            value = obs
        elif name in replayed:
            value = replayed[name]
        else:
            value = fn.rsample()
        log_probs.append(fn.log_prob(value).sum())
        values[name] = value
        return value


class SVI:
    def __init__(self, model, guide, adam_params, num_particles=1):
        self.model, self.guide = model, guide
        self.adam_params, self.num_particles, self.optim = adam_params, num_particles, {}

    def run(self, fn, obs, replayed):
        pyro.trace = (replayed, [], {})
        fn(obs)
        return sum(pyro.trace[1]), pyro.trace[2]

    def step(self, obs):
        loss = 0.
        for _ in range(self.num_particles):
            guide_log_prob, latents = self.run(self.guide, obs, {})
            model_log_prob, _ = self.run(self.model, obs, latents)
            loss = loss - (model_log_prob - guide_log_prob) / self.num_particles
        loss.backward()
        for name, p in pyro.store.items():
            if name not in self.optim:
                self.optim[name] = torch.optim.Adam([p], **self.adam_params)
            self.optim[name].step()
            self.optim[name].zero_grad()
        return loss.item()


# %%
mu_prior = 42.0
sigma_prior = 1.0


def model(obs):
    s = pyro.sample("test", dist.Normal(mu_prior, sigma_prior), obs=obs)


def guide(obs):
    mu_param = pyro.param('mu_param', torch.tensor(mu_prior))
    sigma_param = pyro.param('sigma_param', torch.tensor(sigma_prior))
    s = pyro.sample("test", dist.Normal(mu_param, sigma_param).expand([len(obs)]))


# %%
adam_params = {"lr": 0.005, "betas": (0.95, 0.999)}
svi = SVI(model, guide, adam_params, num_particles=1)
obs = torch.tensor(np.random.normal(loc=mu_prior, scale=sigma_prior, size=1000), dtype=torch.float32)

n_steps = 400
loss, mu, sigma = [], [], []
for step in range(n_steps):
    l = svi.step(obs)
    loss.append(l)
    mu.append(pyro.param('mu_param', None).item())
    sigma.append(pyro.param('sigma_param', None).item())
    if step % 100 == 0:
        print(step, loss[-1], mu[-1], sigma[-1])
