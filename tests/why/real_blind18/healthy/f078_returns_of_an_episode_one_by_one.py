# https://github.com/seungeunrho/minimalRL/blob/master/REINFORCE.py
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)

# Hyperparameters
learning_rate = 0.01
gamma = 0.98


class Pole:
    """A stick that falls to one side unless it is pushed to the other; at most forty pushes."""
    def reset(self):
        self.x, self.v, self.t = np.random.uniform(-0.2, 0.2), 0.0, 0
        return self.state()

    def state(self):
        return np.array([2 * self.x, 5 * self.v, self.x ** 2, 1.0])

    def step(self, action):
        self.v += 0.05 * self.x + (0.06 if action == 1 else -0.06)
        self.x += self.v
        self.t += 1
        return self.state(), 1.0, abs(self.x) > 1 or self.t >= 40


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.data = []

        self.fc1 = nn.Linear(4, 32)
        self.fc2 = nn.Linear(32, 2)
        self.optimizer = optim.Adam(self.parameters(), lr=learning_rate)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.softmax(self.fc2(x), dim=0)
        return x

    def put_data(self, item):
        self.data.append(item)

    def train_net(self):
        R = 0
        self.optimizer.zero_grad()
        for r, prob in self.data[::-1]:
            R = r + gamma * R
            loss = -torch.log(prob) * R
            loss.backward()
        self.optimizer.step()
        self.data = []


# %%
env = Pole()
pi = Policy()
score, scores = 0.0, []
print_interval = 20

# %%
for n_epi in range(120):
    s = env.reset()
    done = False
    while not done:
        prob = pi(torch.from_numpy(s).float())
        m = Categorical(prob)
        a = m.sample()
        s_prime, r, done = env.step(a.item())
        pi.put_data((r, prob[a]))
        s = s_prime
        score += r

    pi.train_net()

    if (n_epi + 1) % print_interval == 0:
        print("# of episode :{}, avg score : {}".format(n_epi + 1, score / print_interval))
        scores.append(score / print_interval)
        score = 0.0

# %%
print(scores[0], max(scores[-3:]))
assert max(scores[-3:]) > 1.8 * scores[0]
