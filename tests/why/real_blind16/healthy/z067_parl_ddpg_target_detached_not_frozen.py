# https://github.com/PaddlePaddle/PARL/issues/866
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(obs_dim, 64), nn.Linear(64, 64), nn.Linear(64, action_dim)

    def forward(self, obs):
        a = F.relu(self.l2(F.relu(self.l1(obs))))
        return torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self, obs_dim, action_dim):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(obs_dim, 64), nn.Linear(64 + action_dim, 64), nn.Linear(64, 1)

    def forward(self, obs, action):
        q = F.relu(self.l1(obs))
        q = F.relu(self.l2(torch.cat([q, action], 1)))
        return self.l3(q)


class Model(nn.Module):
    def __init__(self, obs_dim=2, action_dim=1):
        super().__init__()
        self.actor_model, self.critic_model = Actor(obs_dim, action_dim), Critic(obs_dim, action_dim)

    def policy(self, obs):
        return self.actor_model(obs)

    def value(self, obs, action):
        return self.critic_model(obs, action)

    def sync_weights_to(self, target, decay):
        for mine, theirs in zip(self.parameters(), target.parameters()):
            theirs.data.copy_(decay * theirs.data + (1 - decay) * mine.data)


class DDPG:
    def __init__(self, model, gamma=0.9, tau=0.02, lr=2e-3):
        self.gamma, self.tau = gamma, tau
        self.model, self.target_model = model, copy.deepcopy(model)
        self.actor_optimizer = torch.optim.Adam(model.actor_model.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.Adam(model.critic_model.parameters(), lr=lr)

    def learn(self, obs, action, reward, next_obs, terminal):
        critic_loss = self._critic_learn(obs, action, reward, next_obs, terminal)
        actor_loss = self._actor_learn(obs)
        self.model.sync_weights_to(self.target_model, decay=1 - self.tau)
        return critic_loss.item(), actor_loss.item()

    def _critic_learn(self, obs, action, reward, next_obs, terminal):
        target_Q = self.target_model.value(next_obs, self.target_model.policy(next_obs))
        target_Q = reward + ((1.0 - terminal) * self.gamma * target_Q).detach()
        current_Q = self.model.value(obs, action)
        critic_loss = F.mse_loss(current_Q, target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        return critic_loss

    def _actor_learn(self, obs):
        actor_loss = -self.model.value(obs, self.model.policy(obs)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        return actor_loss


def physics(obs, action):
    """A cart on a rail: it is pushed, rubs a little, and shall stand in the middle."""
    x, v = obs[:, :1], obs[:, 1:]
    v = 0.9 * v + 0.3 * action
    x = (x + 0.3 * v).clamp(-2, 2)
    return torch.cat([x, v], 1), -(x**2) - 0.1 * v**2


def rollout(policy, start, steps=40):
    obs, total = start, 0
    with torch.no_grad():
        for _ in range(steps):
            obs, reward = physics(obs, policy(obs))
            total = total + reward
    return (total / steps).mean().item(), obs


# %%
obs = torch.cat([torch.rand(4000, 1) * 4 - 2, torch.randn(4000, 1)], 1)
action = torch.rand(4000, 1) * 2 - 1
next_obs, reward = physics(obs, action)
terminal = torch.zeros(4000, 1)
alg = DDPG(Model())
start = torch.cat([torch.rand(200, 1) * 4 - 2, torch.zeros(200, 1)], 1)
before, _ = rollout(alg.model.policy, start)
target_before = [p.detach().clone() for p in alg.target_model.parameters()]

# %%
history = []
for step in range(420):
    i = torch.randint(0, 4000, (128,))
    history.append(alg.learn(obs[i], action[i], reward[i], next_obs[i], terminal[i]))

# %%
after, stands = rollout(alg.model.policy, start)
print(history[0], history[-1], before, after, stands[:, 0].abs().mean().item())
assert all(p.requires_grad and p.grad is None for p in alg.target_model.parameters())
assert all(not torch.equal(a, b) for a, b in zip(target_before, alg.target_model.parameters()))
assert stands[:, 0].abs().mean() < 0.2 and after > before
