# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/dqn.py
import argparse
import random
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
Samples = namedtuple("Samples", "observations actions next_observations dones rewards")


class Field:
    """A field of four by four places; the last one pays one, each step costs a little."""
    num_envs = 1

    def reset(self):
        self.x, self.y, self.t = random.randint(0, 2), random.randint(0, 2), 0
        return self.state()

    def state(self):
        return np.array([[self.x / 3, self.y / 3]], dtype=np.float32)

    def step(self, actions):
        dx, dy = [(1, 0), (-1, 0), (0, 1), (0, -1)][actions[0]]
        self.x, self.y, self.t = min(max(self.x + dx, 0), 3), min(max(self.y + dy, 0), 3), self.t + 1
        found = self.x == 3 and self.y == 3
        done, obs = found or self.t >= 20, self.state()
        infos = [{"terminal_observation": obs[0], "episode": {"l": self.t}} if done else {}]
        return (self.reset() if done else obs), np.array([1.0 if found else -0.05]), np.array([done and found]), infos


class ReplayBuffer:
    def __init__(self, buffer_size):
        self.rows, self.size = [], buffer_size

    def add(self, obs, next_obs, actions, rewards, dones, infos):
        self.rows = (self.rows + [(obs[0], actions, next_obs[0], dones.astype(np.float32), rewards)])[-self.size:]

    def sample(self, batch_size):
        batch = zip(*random.sample(self.rows, batch_size))
        obs, actions, next_obs, dones, rewards = (torch.tensor(np.array(k)) for k in batch)
        return Samples(obs, actions, next_obs, dones, rewards.float())


# ALGO LOGIC: initialize agent here:
class QNetwork(nn.Module):
    def __init__(self, env):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(2, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 4),
        )

    def forward(self, x):
        return self.network(x)


def linear_schedule(start_e: float, end_e: float, duration: int, t: int):
    slope = (end_e - start_e) / duration
    return max(slope * t + start_e, end_e)


# %%
args = argparse.Namespace(seed=1, learning_rate=2e-3, buffer_size=1500, total_timesteps=2200, gamma=0.95, tau=1.0, target_network_frequency=100,
                          batch_size=64, start_e=1, end_e=0.05, exploration_fraction=0.5, learning_starts=300, train_frequency=4)
# TRY NOT TO MODIFY: seeding
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)
device = torch.device("cpu")

# env setup
envs = Field()
q_network = QNetwork(envs).to(device)
optimizer = optim.Adam(q_network.parameters(), lr=args.learning_rate)
target_network = QNetwork(envs).to(device)
target_network.load_state_dict(q_network.state_dict())
rb = ReplayBuffer(args.buffer_size)
lengths, losses = [], []

# %%
# TRY NOT TO MODIFY: start the game
obs = envs.reset()
for global_step in range(args.total_timesteps):
    # ALGO LOGIC: put action logic here
    epsilon = linear_schedule(args.start_e, args.end_e, args.exploration_fraction * args.total_timesteps, global_step)
    if random.random() < epsilon:
        actions = np.array([random.randrange(4) for _ in range(envs.num_envs)])
    else:
        q_values = q_network(torch.Tensor(obs).to(device))
        actions = torch.argmax(q_values, dim=1).cpu().numpy()

    # TRY NOT TO MODIFY: execute the game and log data.
    next_obs, rewards, dones, infos = envs.step(actions)
    real_next_obs = next_obs.copy()
    for idx, info in enumerate(infos):
        if "episode" in info.keys():
            lengths.append(info["episode"]["l"])
            real_next_obs[idx] = info["terminal_observation"]
    rb.add(obs, real_next_obs, actions, rewards, dones, infos)

    # TRY NOT TO MODIFY: CRUCIAL step easy to overlook
    obs = next_obs

    # ALGO LOGIC: training.
    if global_step > args.learning_starts:
        if global_step % args.train_frequency == 0:
            data = rb.sample(args.batch_size)
            with torch.no_grad():
                target_max, _ = target_network(data.next_observations).max(dim=1)
                td_target = data.rewards.flatten() + args.gamma * target_max * (1 - data.dones.flatten())
            old_val = q_network(data.observations).gather(1, data.actions).squeeze()
            loss = F.mse_loss(td_target, old_val)
            losses.append(loss.item())

            # optimize the model
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        # update target network
        if global_step % args.target_network_frequency == 0:
            for target_network_param, q_network_param in zip(target_network.parameters(), q_network.parameters()):
                target_network_param.data.copy_(
                    args.tau * q_network_param.data + (1.0 - args.tau) * target_network_param.data
                )

# %%
early, late = float(np.mean(lengths[:40])), float(np.mean(lengths[-40:]))
print(len(losses), losses[0], losses[-1], early, late)
assert late < 6 and late < 0.5 * early and all(p.grad is None for p in target_network.parameters())
