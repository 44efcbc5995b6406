# https://github.com/thu-ml/tianshou/issues/40
from copy import deepcopy

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
obs_dim, act_dim, bsz = 5, 6, 128


class ActorProb(nn.Module):
    def __init__(self):
        super().__init__()
        self.preprocess = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU())
        self.mu = nn.Linear(32, act_dim)
        self.sigma = nn.Linear(32, act_dim)

    def forward(self, s):
        logits = self.preprocess(s)
        return self.mu(logits), torch.exp(self.sigma(logits).clamp(-5, 2))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(obs_dim + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.model(torch.cat([s, a], dim=1))


class SACPolicy:
    def __init__(self):
        self.actor, self.critic1, self.critic2 = ActorProb(), Critic(), Critic()
        self.critic1_old, self.critic2_old = deepcopy(self.critic1), deepcopy(self.critic2)
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic1_optim = torch.optim.Adam(self.critic1.parameters(), lr=1e-3)
        self.critic2_optim = torch.optim.Adam(self.critic2.parameters(), lr=1e-3)
        self._alpha, self._gamma, self._action_scale = 0.2, 0.99, 1.0
        self.__eps = np.finfo(np.float32).eps.item()

    def __call__(self, obs):
        mu, sigma = self.actor(obs)
        dist = torch.distributions.Normal(mu, sigma)
        x = dist.rsample()
        y = torch.tanh(x)
        act = y * self._action_scale
        log_prob = dist.log_prob(x) - torch.log(
            self._action_scale * (1 - y.pow(2)) + self.__eps)
        return act, log_prob

    def learn(self, obs, act, rew, obs_next):
        with torch.no_grad():
            a_, log_prob_ = self(obs_next)
            target_q = torch.min(self.critic1_old(obs_next, a_), self.critic2_old(obs_next, a_)
                                 ) - self._alpha * log_prob_
            target_q = rew + self._gamma * target_q
        current_q1 = self.critic1(obs, act)
        critic1_loss = F.mse_loss(current_q1, target_q)
        self.critic1_optim.zero_grad()
        critic1_loss.backward()
        self.critic1_optim.step()
        current_q2 = self.critic2(obs, act)
        critic2_loss = F.mse_loss(current_q2, target_q)
        self.critic2_optim.zero_grad()
        critic2_loss.backward()
        self.critic2_optim.step()
        a, obs_log_prob = self(obs)
        actor_loss = (self._alpha * obs_log_prob - torch.min(self.critic1(obs, a), self.critic2(obs, a))).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        return current_q1, target_q, critic1_loss


# %%
policy = SACPolicy()
obs, obs_next = torch.randn(2, bsz, obs_dim)
act, rew = torch.rand(bsz, act_dim) * 2 - 1, torch.randn(bsz, 1)
for _ in range(5):
    current_q1, target_q, critic1_loss = policy.learn(obs, act, rew, obs_next)
    print(critic1_loss.item())
