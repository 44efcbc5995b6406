# https://github.com/sfujim/TD3/issues/20
import copy
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim, max_action):
        super(Actor, self).__init__()
        self.l1 = nn.Linear(state_dim, 64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, action_dim)
        self.max_action = max_action

    def forward(self, state):
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return self.max_action * torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super(Critic, self).__init__()
        self.q1 = nn.Sequential(nn.Linear(state_dim + action_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.q2 = nn.Sequential(nn.Linear(state_dim + action_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.q1(sa), self.q2(sa)


class TD3(object):
    def __init__(self, state_dim, action_dim, max_action, discount=0.95, tau=0.005, policy_noise=0.2, noise_clip=0.5, policy_freq=2):
        self.actor = Actor(state_dim, action_dim, max_action)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

        self.critic = Critic(state_dim, action_dim)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

        self.max_action, self.discount, self.tau = max_action, discount, tau
        self.policy_noise, self.noise_clip, self.policy_freq = policy_noise, noise_clip, policy_freq
        self.total_it = 0

    def train(self, batch):
        self.total_it += 1
        state, action, next_state, reward, not_done = batch
        with torch.no_grad():
            noise = (torch.randn_like(action) * self.policy_noise).clamp(-self.noise_clip, self.noise_clip)
            next_action = (self.actor_target(next_state) + noise).clamp(-self.max_action, self.max_action)
            target_Q1, target_Q2 = self.critic_target(next_state, next_action)
            target_Q = reward + not_done * self.discount * torch.min(target_Q1, target_Q2)

        current_Q1, current_Q2 = self.critic(state, action)
        critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        if self.total_it % self.policy_freq == 0:
            actor_loss = -self.critic(state, self.actor(state))[0].mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()

            for param, target_param in zip(self.critic.parameters(), self.critic_target.parameters()):
                target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)
            for param, target_param in zip(self.actor.parameters(), self.actor_target.parameters()):
                target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)
        return critic_loss.item()

    def save(self, files):
        for name in ("critic", "critic_optimizer", "actor", "actor_optimizer"):
            files[name] = io.BytesIO()
            torch.save(getattr(self, name).state_dict(), files[name])

    def load(self, files):
        for name in ("critic", "critic_optimizer", "actor", "actor_optimizer"):
            files[name].seek(0)
            getattr(self, name).load_state_dict(torch.load(files[name]))


# %%
def sample(batch_size=128):
    state = torch.rand(batch_size, 2) * 2 - 1
    action = torch.rand(batch_size, 1) * 2 - 1
    reward = 3 - (action - state[:, :1]) ** 2
    next_state = torch.rand(batch_size, 2) * 2 - 1
    return state, action, next_state, reward, torch.ones(batch_size, 1)


test_batch = sample(256)


def value(policy):
    with torch.no_grad():
        return policy.critic(test_batch[0], test_batch[1])[0].mean().item()


policy = TD3(2, 1, 1.0, tau=0.05)
for t in range(400):
    policy.train(sample())
value_before_saving = value(policy)
files = {}
policy.save(files)

# %%
policy = TD3(2, 1, 1.0, tau=0.05)
policy.load(files)
value_loaded = value(policy)
losses = [policy.train(sample()) for t in range(20)]
value_after_training = value(policy)
print(value_before_saving, value_loaded, value_after_training)
print(losses)
