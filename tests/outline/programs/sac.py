import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)
LOG_STD_MIN, LOG_STD_MAX = -20, 2


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.mu_layer = nn.Linear(hidden, act_dim)
        self.log_std_layer = nn.Linear(hidden, act_dim)

    def forward(self, obs):
        h = self.net(obs)
        mu = self.mu_layer(h)
        log_std = torch.clamp(self.log_std_layer(h), LOG_STD_MIN, LOG_STD_MAX)
        dist = Normal(mu, log_std.exp())
        u = dist.rsample()
        a = torch.tanh(u)
        logp = dist.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
        return a, logp.sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=32):
        super().__init__()
        self.q1 = self.make(obs_dim + act_dim, hidden)
        self.q2 = self.make(obs_dim + act_dim, hidden)

    def make(self, d, hidden):
        return nn.Sequential(
            nn.Linear(d, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return self.q1(x), self.q2(x)


class SAC:
    def __init__(self, obs_dim, act_dim, gamma=0.99, tau=0.005, lr=3e-4):
        self.gamma, self.tau = gamma, tau
        self.actor = Actor(obs_dim, act_dim)
        self.critic = Critic(obs_dim, act_dim)
        self.critic_target = copy.deepcopy(self.critic)
        for p in self.critic_target.parameters():
            p.requires_grad = False
        self.target_entropy = -act_dim
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    @property
    def alpha(self):
        return self.log_alpha.exp()

    def update_critic(self, obs, act, rew, next_obs, done):
        with torch.no_grad():
            next_act, next_logp = self.actor(next_obs)
            q1_t, q2_t = self.critic_target(next_obs, next_act)
            target_v = torch.min(q1_t, q2_t) - self.alpha * next_logp
            target_q = rew + self.gamma * (1 - done) * target_v
        q1, q2 = self.critic(obs, act)
        critic_loss = F.mse_loss(q1, target_q) + F.mse_loss(q2, target_q)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        return critic_loss.item()

    def update_actor_and_alpha(self, obs):
        for p in self.critic.parameters():
            p.requires_grad = False
        pi, logp = self.actor(obs)
        q1_pi, q2_pi = self.critic(obs, pi)
        q_pi = torch.min(q1_pi, q2_pi)
        actor_loss = (self.alpha.detach() * logp - q_pi).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        for p in self.critic.parameters():
            p.requires_grad = True

        alpha_loss = -(self.log_alpha * (logp + self.target_entropy).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        return actor_loss.item(), alpha_loss.item()

    def soft_update(self):
        with torch.no_grad():
            for p, p_targ in zip(
                self.critic.parameters(), self.critic_target.parameters(), strict=True
            ):
                p_targ.data.mul_(1 - self.tau)
                p_targ.data.add_(self.tau * p.data)

    def update(self, batch):
        obs, act, rew, next_obs, done = batch
        losses = self.update_critic(obs, act, rew, next_obs, done)
        actor_losses = self.update_actor_and_alpha(obs)
        self.soft_update()
        return losses, actor_losses


agent = SAC(obs_dim=11, act_dim=3)
replay = [
    torch.randn(64, 11),
    torch.rand(64, 3) * 2 - 1,
    torch.randn(64, 1),
    torch.randn(64, 11),
    torch.zeros(64, 1),
]


def sample_batch(n=16):
    idx = torch.randint(0, 64, (n,))
    return [t[idx] for t in replay]


# %% the recorded cell
for _update in range(3):
    batch = sample_batch()
    agent.update(batch)
