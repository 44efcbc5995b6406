# https://github.com/openai/spinningup/blob/master/spinup/algos/pytorch/sac/sac.py
import itertools
from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.normal import Normal
from torch.optim import Adam

torch.manual_seed(0)


class SquashedGaussianMLPActor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
        self.mu_layer, self.log_std_layer = nn.Linear(16, 1), nn.Linear(16, 1)

    def forward(self, obs, deterministic=False, with_logprob=True):
        net_out = self.net(obs)
        mu = self.mu_layer(net_out)
        std = torch.exp(torch.clamp(self.log_std_layer(net_out), -20, 2))
        pi_distribution = Normal(mu, std)
        pi_action = mu if deterministic else pi_distribution.rsample()
        logp_pi = None
        if with_logprob:
            logp_pi = pi_distribution.log_prob(pi_action).sum(axis=-1)
            logp_pi -= (2 * (0.6931 - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
        return torch.tanh(pi_action), logp_pi


class MLPQFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs, act):
        return torch.squeeze(self.q(torch.cat([obs, act], dim=-1)), -1)


class MLPActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.q1, self.q2 = SquashedGaussianMLPActor(), MLPQFunction(), MLPQFunction()

    def act(self, obs, deterministic=False):
        with torch.no_grad():
            a, _ = self.pi(obs, deterministic, False)
            return a.numpy()


ac = MLPActorCritic()
ac_targ = deepcopy(ac)
for p in ac_targ.parameters():
    p.requires_grad = False
q_params = itertools.chain(ac.q1.parameters(), ac.q2.parameters())
alpha, gamma, polyak = 0.2, 0.99, 0.995


def compute_loss_q(data):
    o, a, r, o2, d = data["obs"], data["act"], data["rew"], data["obs2"], data["done"]
    q1, q2 = ac.q1(o, a), ac.q2(o, a)
    with torch.no_grad():
        a2, logp_a2 = ac.pi(o2)
        q_pi_targ = torch.min(ac_targ.q1(o2, a2), ac_targ.q2(o2, a2))
        backup = r + gamma * (1 - d) * (q_pi_targ - alpha * logp_a2)
    loss_q = ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()
    return loss_q, dict(Q1Vals=q1.detach().numpy(), Q2Vals=q2.detach().numpy())


def compute_loss_pi(data):
    o = data["obs"]
    pi, logp_pi = ac.pi(o)
    q_pi = torch.min(ac.q1(o, pi), ac.q2(o, pi))
    loss_pi = (alpha * logp_pi - q_pi).mean()
    return loss_pi, dict(LogPi=logp_pi.detach().numpy())


q_params = list(q_params)
pi_optimizer = Adam(ac.pi.parameters(), lr=1e-3)
q_optimizer = Adam(q_params, lr=1e-3)
before = ac.pi.net[0].weight.detach().clone()


def update(data):
    q_optimizer.zero_grad()
    loss_q, q_info = compute_loss_q(data)
    loss_q.backward()
    q_optimizer.step()
    for p in q_params:
        p.requires_grad = False
    pi_optimizer.zero_grad()
    loss_pi, pi_info = compute_loss_pi(data)
    loss_pi.backward()
    pi_optimizer.step()
    for p in q_params:
        p.requires_grad = True
    with torch.no_grad():
        for p, p_targ in zip(ac.parameters(), ac_targ.parameters()):
            p_targ.data.mul_(polyak)
            p_targ.data.add_((1 - polyak) * p.data)
    return loss_q.item(), loss_pi.item()


# %%
for t in range(3):
    a = ac.act(torch.randn(3).unsqueeze(0))
    data = dict(
        obs=torch.randn(8, 3),
        act=torch.rand(8, 1),
        rew=torch.randn(8),
        obs2=torch.randn(8, 3),
        done=torch.zeros(8),
    )
    print(update(data))
