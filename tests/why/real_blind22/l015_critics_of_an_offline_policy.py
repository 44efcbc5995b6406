# https://github.com/yihaosun1124/OfflineRL-Kit/issues/15
import copy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class TanhGaussianActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, act_dim)
        self.sigma = nn.Linear(hidden, act_dim)

    def forward(self, obs):
        h = self.backbone(obs)
        return torch.distributions.Normal(self.mu(h), self.sigma(h).clamp(-5, 2).exp())


def make_critic(obs_dim, act_dim, hidden=32):
    return nn.Sequential(nn.Linear(obs_dim + act_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))


class COMBOPolicy:
    def __init__(self, actor, critic1, critic2, lr=3e-4, gamma=0.99, alpha=0.2, cql_weight=5.0, temperature=1.0,
                 num_repeat_actions=10):
        self.actor, self.critic1, self.critic2 = actor, critic1, critic2
        self.critic1_old, self.critic2_old = copy.deepcopy(critic1), copy.deepcopy(critic2)
        self.actor_optim = torch.optim.Adam(actor.parameters(), lr=lr)
        self.critic1_optim = torch.optim.Adam(critic1.parameters(), lr=lr)
        self.critic2_optim = torch.optim.Adam(critic2.parameters(), lr=lr)
        self._gamma, self._alpha, self._cql_weight = gamma, alpha, cql_weight
        self._temperature, self._num_repeat_actions = temperature, num_repeat_actions

    def actforward(self, obs):
        dist = self.actor(obs)
        raw = dist.rsample()
        action = torch.tanh(raw)
        log_prob = (dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return action, log_prob

    def calc_pi_values(self, obs_pi, obs_to_pred):
        act, log_prob = self.actforward(obs_pi)
        q1 = self.critic1(torch.cat([obs_to_pred, act], -1))
        q2 = self.critic2(torch.cat([obs_to_pred, act], -1))
        return q1 - log_prob.detach(), q2 - log_prob.detach()

    def calc_random_values(self, obs, random_act):
        q1 = self.critic1(torch.cat([obs, random_act], -1))
        q2 = self.critic2(torch.cat([obs, random_act], -1))
        log_prob = np.log(0.5 ** random_act.shape[-1])
        return q1 - log_prob, q2 - log_prob

    def learn(self, batch):
        obss, actions, next_obss, rewards, terminals = batch
        a, log_probs = self.actforward(obss)
        sa = torch.cat([obss, a], -1)
        actor_loss = (self._alpha * log_probs - torch.min(self.critic1(sa), self.critic2(sa))).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()

        with torch.no_grad():
            next_a, _ = self.actforward(next_obss)
            next_sa = torch.cat([next_obss, next_a], -1)
            next_q = torch.min(self.critic1_old(next_sa), self.critic2_old(next_sa))
            target_q = rewards + self._gamma * (1 - terminals) * next_q
        q1, q2 = (critic(torch.cat([obss, actions], -1)) for critic in (self.critic1, self.critic2))

        tmp_obss = obss.repeat_interleave(self._num_repeat_actions, 0)
        tmp_next_obss = next_obss.repeat_interleave(self._num_repeat_actions, 0)
        random_actions = torch.empty(len(tmp_obss), actions.shape[-1]).uniform_(-1, 1)
        pi1, pi2 = self.calc_pi_values(tmp_obss, tmp_obss)
        next_pi1, next_pi2 = self.calc_pi_values(tmp_next_obss, tmp_obss)
        rand1, rand2 = self.calc_random_values(tmp_obss, random_actions)
        cat_q1 = torch.cat([pi1, next_pi1, rand1], 1)
        cat_q2 = torch.cat([pi2, next_pi2, rand2], 1)
        weight = self._cql_weight * self._temperature
        conservative_loss1 = torch.logsumexp(cat_q1 / self._temperature, 1).mean() * weight - q1.mean() * weight
        conservative_loss2 = torch.logsumexp(cat_q2 / self._temperature, 1).mean() * weight - q2.mean() * weight

        critic1_loss = (q1 - target_q).pow(2).mean() + conservative_loss1
        critic2_loss = (q2 - target_q).pow(2).mean() + conservative_loss2
        self.critic1_optim.zero_grad()
        critic1_loss.backward()
        self.critic1_optim.step()
        self.critic2_optim.zero_grad()
        critic2_loss.backward()
        self.critic2_optim.step()
        return actor_loss.item(), critic1_loss.item(), critic2_loss.item()


# %%
obs_dim, act_dim = 6, 2
policy = COMBOPolicy(TanhGaussianActor(obs_dim, act_dim), make_critic(obs_dim, act_dim), make_critic(obs_dim, act_dim))
batch = (torch.randn(32, obs_dim), torch.rand(32, act_dim) * 2 - 1, torch.randn(32, obs_dim), torch.randn(32, 1),
         torch.zeros(32, 1))

# %%
print(policy.learn(batch))
