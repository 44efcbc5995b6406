# https://ai.stackexchange.com/questions/41279/reinforce-with-baseline-not-learning
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)
device = "cpu"


class CartEnv:
    """A cart that shall be kept near the middle."""

    def reset(self):
        self.x, self.v = np.random.uniform(-0.5, 0.5), 0.0
        return np.array([self.x, self.v, 1.0, 0.0])

    def step(self, action):
        self.v += 0.2 if action == 1 else -0.2
        self.x += self.v
        return np.array([self.x, self.v, 1.0, 0.0]), 1.0, bool(abs(self.x) > 2.0)


class PolicyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return Categorical(logits=self.layers(x))


class Reinforce:
    def __init__(self, env, gamma=0.99, with_baseline=True):
        self.env, self.gamma, self.with_baseline = env, gamma, with_baseline
        self.policy_net = PolicyNet()
        self.grad_norms = []

    def generate_episode(self, max_steps):
        self.rewards, self.log_probs = [], []
        state = self.env.reset()
        for _ in range(max_steps):
            dist = self.policy_net(torch.FloatTensor(state).unsqueeze(0).to(device))
            action = dist.sample()
            self.log_probs.append(dist.log_prob(action))
            state, reward, done = self.env.step(action.item())
            self.rewards.append(reward)
            if done:
                break

    def train(self, episodes, lr, max_steps=40):
        self.policy_net.to(device)
        optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        for n in range(episodes):
            # Generate episode and calculate returns
            self.generate_episode(max_steps)
            T = len(self.rewards)
            returns = np.zeros(T)
            Gt = 0
            for t in reversed(range(T)):
                Gt = self.rewards[t] + self.gamma * Gt
                returns[t] = Gt
            # Calculate Loss
            ret_tensor = torch.FloatTensor(returns).unsqueeze(1)
            if self.with_baseline:
                ret_tensor = ret_tensor - ret_tensor.mean()
            ret_tensor = ret_tensor.to(device)
            log_probs = torch.cat(self.log_probs)
            loss = - torch.sum(log_probs * ret_tensor)
            # Gradient Descent
            optimizer.zero_grad()
            loss.backward()
            self.grad_norms.append(self.policy_net.layers[2].weight.grad.norm().item())
            optimizer.step()
            print(n, T, loss.item())


# %%
agent = Reinforce(CartEnv())
agent.train(episodes=15, lr=0.005)
