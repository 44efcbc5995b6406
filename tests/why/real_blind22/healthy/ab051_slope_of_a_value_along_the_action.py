# https://github.com/ghliu/pytorch-ddpg/issues/7
import numpy as np
import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(0)
np.random.seed(0)

criterion = nn.MSELoss()


class Actor(nn.Module):
    def __init__(self, nb_states, nb_actions, hidden1=40, hidden2=30, init_w=3e-3):
        super(Actor, self).__init__()
        self.fc1 = nn.Linear(nb_states, hidden1)
        self.fc2 = nn.Linear(hidden1, hidden2)
        self.fc3 = nn.Linear(hidden2, nb_actions)
        self.relu = nn.ReLU()
        self.tanh = nn.Tanh()
        self.fc3.weight.data.uniform_(-init_w, init_w)

    def forward(self, x):
        out = self.relu(self.fc1(x))
        out = self.relu(self.fc2(out))
        return self.tanh(self.fc3(out))


class Critic(nn.Module):
    def __init__(self, nb_states, nb_actions, hidden1=40, hidden2=30, init_w=3e-3):
        super(Critic, self).__init__()
        self.fc1 = nn.Linear(nb_states, hidden1)
        self.fc2 = nn.Linear(hidden1 + nb_actions, hidden2)
        self.fc3 = nn.Linear(hidden2, 1)
        self.relu = nn.ReLU()
        self.fc3.weight.data.uniform_(-init_w, init_w)

    def forward(self, xs):
        x, a = xs
        out = self.relu(self.fc1(x))
        out = self.relu(self.fc2(torch.cat([out, a], 1)))
        return self.fc3(out)


def to_tensor(ndarray):
    return torch.from_numpy(ndarray).float()


def hard_update(target, source):
    for target_param, param in zip(target.parameters(), source.parameters()):
        target_param.data.copy_(param.data)


def soft_update(target, source, tau):
    for target_param, param in zip(target.parameters(), source.parameters()):
        target_param.data.copy_(target_param.data * (1.0 - tau) + param.data * tau)


class DDPG:
    def __init__(self, nb_states, nb_actions, memory, prate=1e-3, rate=5e-3, discount=0.6, tau=0.01):
        self.actor, self.actor_target = Actor(nb_states, nb_actions), Actor(nb_states, nb_actions)
        self.actor_optim = Adam(self.actor.parameters(), lr=prate)
        self.critic, self.critic_target = Critic(nb_states, nb_actions), Critic(nb_states, nb_actions)
        self.critic_optim = Adam(self.critic.parameters(), lr=rate)
        hard_update(self.actor_target, self.actor)  # Make sure target is with the same weight
        hard_update(self.critic_target, self.critic)
        self.memory, self.discount, self.tau = memory, discount, tau

    def update_policy(self, batch_size=64):
        at = np.random.randint(0, len(self.memory[0]), batch_size)
        state_batch, action_batch, reward_batch, next_state_batch, terminal_batch = (m[at] for m in self.memory)

        # Prepare for the target q batch
        with torch.no_grad():
            next_q_values = self.critic_target([to_tensor(next_state_batch), self.actor_target(to_tensor(next_state_batch))])
        target_q_batch = to_tensor(reward_batch) + self.discount * to_tensor(terminal_batch) * next_q_values

        # Critic update
        self.critic.zero_grad()
        q_batch = self.critic([to_tensor(state_batch), to_tensor(action_batch)])
        value_loss = criterion(q_batch, target_q_batch)
        value_loss.backward()
        self.critic_optim.step()

        # Actor update
        self.actor.zero_grad()
        policy_loss = -self.critic([to_tensor(state_batch), self.actor(to_tensor(state_batch))])
        policy_loss = policy_loss.mean()
        policy_loss.backward()
        self.actor_optim.step()

        # Target update
        soft_update(self.actor_target, self.actor, self.tau)
        soft_update(self.critic_target, self.critic, self.tau)
        return value_loss.item(), policy_loss.item()


# %%
states, actions = np.random.uniform(-1, 1, (1000, 2)), np.random.uniform(-1, 1, (1000, 1))
next_states = np.concatenate([states[:, :1] + 0.5 * actions, states[:, 1:]], 1)
rewards = -(next_states[:, :1] - next_states[:, 1:]) ** 2
agent = DDPG(2, 1, (states, actions, rewards, next_states, np.ones((1000, 1))))


def mean_reward():
    with torch.no_grad():
        s = to_tensor(states)
        return -(s[:, :1] + 0.5 * agent.actor(s) - s[:, 1:]).pow(2).mean().item()


# %%
start = mean_reward()
for step in range(400):
    value_loss, policy_loss = agent.update_policy()
end = mean_reward()
print(start, end, value_loss, policy_loss)
