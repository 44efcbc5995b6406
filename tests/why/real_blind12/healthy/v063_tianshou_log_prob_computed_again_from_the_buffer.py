# https://github.com/thu-ml/tianshou/issues/397
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)


class CorridorEnv:
    """seven places in a row; the last one is worth 1, every step costs a little"""
    size = 7

    def reset(self):
        self.at, self.t = 2, 0
        return self.observe()

    def observe(self):
        obs = np.zeros(self.size, dtype=np.float32)
        obs[self.at] = 1
        return obs

    def step(self, act):
        self.at = max(0, self.at + (1 if act == 1 else -1))
        self.t += 1
        done = self.at == self.size - 1 or self.t == 25
        return self.observe(), float(self.at == self.size - 1) - 0.05, done


class PGPolicy(nn.Module):
    def __init__(self, model, optim, discount_factor=0.95):
        super().__init__()
        self.actor = model
        self.optim = optim
        self.gamma = discount_factor

    def forward(self, obs):
        logits = self.actor(torch.as_tensor(obs))
        dist = torch.distributions.Categorical(logits=logits)
        return dist.sample(), dist

    def process_fn(self, rew, done):
        returns, last = np.zeros_like(rew), 0.
        for i in reversed(range(len(rew))):
            last = rew[i] + self.gamma * last * (1 - done[i])
            returns[i] = last
        return (returns - returns.mean()) / (returns.std() + 1e-8)

    def learn(self, buffer, repeat=1):
        obs, act, rew, done = (np.array(column) for column in zip(*buffer))
        returns = torch.as_tensor(self.process_fn(rew, done), dtype=torch.float32)
        for _ in range(repeat):
            self.optim.zero_grad()
            _, dist = self(obs)  # samples anew, but the stored actions are what counts
            log_prob = dist.log_prob(torch.as_tensor(act))
            loss = -(log_prob * returns).mean()
            loss.backward()
            self.optim.step()
        return loss.item()


# %%
env = CorridorEnv()
net = nn.Sequential(nn.Linear(CorridorEnv.size, 32), nn.ReLU(), nn.Linear(32, 2))
policy = PGPolicy(net, torch.optim.Adam(net.parameters(), lr=1e-2))

# %%
lengths = []
for epoch in range(30):
    buffer = []
    for episode in range(6):
        obs, done = env.reset(), False
        while not done:
            with torch.no_grad():
                act, _ = policy(obs)
            obs_next, rew, done = env.step(act.item())
            buffer.append((obs, act.item(), rew, float(done)))
            obs = obs_next
    policy.learn(buffer)
    lengths.append(len(buffer) / 6)
print(lengths[0], lengths[-1])
assert np.mean(lengths[-5:]) < np.mean(lengths[:5])
assert net[0].weight.grad.abs().sum() > 0
