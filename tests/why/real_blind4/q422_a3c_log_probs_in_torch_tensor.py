# https://github.com/Quantum-Cheese/DeepReinforcementLearning_Pytorch/issues/1
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)


class Actor(nn.Module):
    def __init__(self, state_size, action_size, hidden=16):
        super(Actor, self).__init__()
        self.fc1 = nn.Linear(state_size, hidden)
        self.fc2 = nn.Linear(hidden, action_size)

    def forward(self, x):
        return F.softmax(self.fc2(F.relu(self.fc1(x))), dim=-1)


class Critic(nn.Module):
    def __init__(self, state_size, hidden=16):
        super(Critic, self).__init__()
        self.fc1 = nn.Linear(state_size, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Env:
    """A pole that wanders"""

    def reset(self):
        self.t, self.state = 0, np.random.uniform(-0.05, 0.05, 4)
        return self.state

    def step(self, action):
        self.t += 1
        self.state = self.state + np.random.uniform(-0.02, 0.02, 4) + (0.02 if action else -0.02)
        done = self.t >= 12 or abs(self.state[0]) > 0.2
        return self.state, 1.0, done


class Worker:
    def __init__(self, gamma=0.99, lr=1e-2):
        self.env = Env()
        self.global_actor, self.global_critic = Actor(4, 2), Critic(4)
        self.actor_optimizer = optim.Adam(self.global_actor.parameters(), lr=lr)
        self.critic_optimizer = optim.Adam(self.global_critic.parameters(), lr=lr)
        self.gamma = gamma
        self.memory = []

    def act(self, state):
        state = torch.from_numpy(state).float().unsqueeze(0)
        m = Categorical(self.global_actor(state))
        action = m.sample()
        return action.item(), m.log_prob(action).squeeze(0)

    def learn(self):
        states = torch.tensor(np.array([t[0] for t in self.memory]), dtype=torch.float)
        log_probs = torch.tensor([t[1] for t in self.memory], dtype=torch.float)
        rewards = [t[2] for t in self.memory]

        # discounted future rewards
        returns, R = [], 0
        for r in rewards[::-1]:
            R = r + self.gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns, dtype=torch.float)

        values = self.global_critic(states).squeeze(1)
        advantages = returns - values
        actor_loss = -(log_probs * advantages.detach()).mean()
        critic_loss = F.smooth_l1_loss(values, returns)

        self.actor_optimizer.zero_grad()
        self.critic_optimizer.zero_grad()
        total_loss = actor_loss + critic_loss
        total_loss.backward()
        self.actor_optimizer.step()
        self.critic_optimizer.step()
        self.memory = []
        return actor_loss.item(), critic_loss.item()

    def run(self, episodes):
        for i in range(episodes):
            state, done, score = self.env.reset(), False, 0
            while not done:
                action, log_prob = self.act(state)
                next_state, reward, done = self.env.step(action)
                self.memory.append((state, log_prob, reward))
                state, score = next_state, score + reward
            print(i, score, self.learn())


# %%
worker = Worker()
worker.run(4)
