# https://github.com/sweetice/Deep-reinforcement-learning-with-pytorch/issues/50
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)
np.random.seed(0)

state_dim, action_dim = 3, 1
capacity, batch_size, gamma, tau, learning_rate = 400, 64, 0.99, 0.005, 3e-4
min_Val = torch.tensor(1e-7).float()
Transition = namedtuple('Transition', ['s', 'a', 'r', 's_', 'd'])


class Actor(nn.Module):
    def __init__(self, state_dim, min_log_std=-20, max_log_std=2):
        super(Actor, self).__init__()
        self.fc1 = nn.Linear(state_dim, 32)
        self.fc2 = nn.Linear(32, 32)
        self.mu_head = nn.Linear(32, 1)
        self.log_std_head = nn.Linear(32, 1)
        self.min_log_std = min_log_std
        self.max_log_std = max_log_std

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        mu = self.mu_head(x)
        log_std_head = F.relu(self.log_std_head(x))
        return mu, torch.clamp(log_std_head, self.min_log_std, self.max_log_std)


class Net(nn.Module):
    def __init__(self, in_dim):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(in_dim, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 1)

    def forward(self, *inputs):
        x = torch.cat(inputs, -1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class SAC():
    def __init__(self):
        self.policy_net = Actor(state_dim)
        self.value_net, self.Target_value_net = Net(state_dim), Net(state_dim)
        self.Q_net1, self.Q_net2 = Net(state_dim + action_dim), Net(state_dim + action_dim)
        self.policy_optimizer = optim.Adam(self.policy_net.parameters(), lr=learning_rate)
        self.value_optimizer = optim.Adam(self.value_net.parameters(), lr=learning_rate)
        self.Q1_optimizer = optim.Adam(self.Q_net1.parameters(), lr=learning_rate)
        self.Q2_optimizer = optim.Adam(self.Q_net2.parameters(), lr=learning_rate)
        self.replay_buffer = []
        self.value_criterion, self.Q1_criterion, self.Q2_criterion = nn.MSELoss(), nn.MSELoss(), nn.MSELoss()
        self.Target_value_net.load_state_dict(self.value_net.state_dict())

    def evaluate(self, state):
        batch_mu, batch_log_sigma = self.policy_net(state)
        batch_sigma = torch.exp(batch_log_sigma)
        dist = Normal(batch_mu, batch_sigma)
        z = Normal(0, 1).sample()
        action = torch.tanh(batch_mu + batch_sigma * z)
        log_prob = dist.log_prob(batch_mu + batch_sigma * z) - torch.log(1 - action.pow(2) + min_Val)
        return action, log_prob, z, batch_mu, batch_log_sigma

    def update(self):
        index = np.random.choice(range(capacity), batch_size, replace=False)
        batch = Transition(*zip(*[self.replay_buffer[i] for i in index]))
        bn_s, bn_a, bn_r, bn_s_, bn_d = [torch.tensor(np.array(x)).float() for x in batch]

        target_value = self.Target_value_net(bn_s_)
        next_q_value = bn_r + (1 - bn_d) * gamma * target_value

        excepted_value = self.value_net(bn_s)
        excepted_Q1 = self.Q_net1(bn_s, bn_a)
        excepted_Q2 = self.Q_net2(bn_s, bn_a)
        sample_action, log_prob, z, batch_mu, batch_log_sigma = self.evaluate(bn_s)
        excepted_new_Q = torch.min(self.Q_net1(bn_s, sample_action), self.Q_net2(bn_s, sample_action))
        next_value = excepted_new_Q - log_prob

        V_loss = self.value_criterion(excepted_value, next_value.detach()).mean()
        Q1_loss = self.Q1_criterion(excepted_Q1, next_q_value.detach()).mean()
        Q2_loss = self.Q2_criterion(excepted_Q2, next_q_value.detach()).mean()
        pi_loss = (log_prob - excepted_new_Q).mean()

        # mini batch gradient descent
        self.value_optimizer.zero_grad()
        V_loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(self.value_net.parameters(), 0.5)
        self.value_optimizer.step()

        self.Q1_optimizer.zero_grad()
        Q1_loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(self.Q_net1.parameters(), 0.5)
        self.Q1_optimizer.step()

        self.Q2_optimizer.zero_grad()
        Q2_loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(self.Q_net2.parameters(), 0.5)
        self.Q2_optimizer.step()

        self.policy_optimizer.zero_grad()
        pi_loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(self.policy_net.parameters(), 0.5)
        self.policy_optimizer.step()

        for target_param, param in zip(self.Target_value_net.parameters(), self.value_net.parameters()):
            target_param.data.copy_(target_param * (1 - tau) + param * tau)


# %%
agent = SAC()
for _ in range(capacity):
    s = np.random.randn(state_dim)
    a = np.random.uniform(-1, 1, action_dim)
    agent.replay_buffer.append(Transition(s, a, -np.abs(s[:1] - a), s + 0.1 * a, np.zeros(1)))

# %%
for i in range(3):
    agent.update()
