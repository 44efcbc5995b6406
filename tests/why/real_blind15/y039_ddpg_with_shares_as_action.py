# https://github.com/thu-ml/tianshou/issues/29
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, layer_num, state_shape, action_shape):
        super().__init__()
        self.model = [nn.Linear(state_shape, 64), nn.ReLU()]
        for i in range(layer_num):
            self.model += [nn.Linear(64, 64), nn.ReLU()]
        self.model += [nn.Linear(64, action_shape)]
        self.model = nn.Sequential(*self.model)

    def forward(self, s):
        score = self.model(s)
        score_norm = F.softmax(score, dim=-1)
        return score_norm, None


class Critic(nn.Module):
    def __init__(self, state_shape, action_shape):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(state_shape + action_shape, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.model(torch.cat([s, a], dim=1))


class DDPGPolicy:
    def __init__(self, actor, actor_optim, critic, critic_optim, gamma=0.99, exploration_noise=0.1, action_range=(0.0, 1.0)):
        self.actor, self.actor_old, self.actor_optim = actor, copy.deepcopy(actor), actor_optim
        self.critic, self.critic_old, self.critic_optim = critic, copy.deepcopy(critic), critic_optim
        self._gamma, self._eps, self._range = gamma, exploration_noise, action_range
        self._action_bias = (action_range[0] + action_range[1]) / 2

    def __call__(self, obs, model="actor", eps=None):
        logits, h = getattr(self, model)(obs)
        logits += self._action_bias
        eps = self._eps if eps is None else eps
        if eps > 0:
            logits += torch.randn(size=logits.shape) * eps
        return logits.clamp(self._range[0], self._range[1])

    def learn(self, obs, act, rew, obs_next):
        with torch.no_grad():
            target_q = rew + self._gamma * self.critic_old(obs_next, self(obs_next, model="actor_old", eps=0))
        critic_loss = F.mse_loss(self.critic(obs, act), target_q)
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()
        actor_loss = -self.critic(obs, self(obs, eps=0)).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        return actor_loss.item(), critic_loss.item()


# %%
actor, critic = Actor(1, 6, 3), Critic(6, 3)
policy = DDPGPolicy(actor, torch.optim.Adam(actor.parameters(), lr=1e-4), critic, torch.optim.Adam(critic.parameters(), lr=1e-3))
for step in range(5):
    obs, obs_next = torch.randn(32, 6), torch.randn(32, 6)
    with torch.no_grad():
        act = policy(obs)
    rew = (act * obs[:, :3]).sum(dim=1, keepdim=True)
    print(step, policy.learn(obs, act, rew, obs_next))
