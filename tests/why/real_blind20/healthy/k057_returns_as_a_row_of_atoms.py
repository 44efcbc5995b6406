# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/c51.py
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Ladder:
    """Five rungs; up pays nothing until the top, which pays two or four; down pays one half at once and ends."""
    def reset(self):
        self.rung = 0
        return self.state()

    def state(self):
        return np.eye(5, dtype=np.float32)[[self.rung]]

    def step(self, action):
        if action == 0:
            return self.state(), 0.5, True
        self.rung += 1
        if self.rung == 4:
            return self.state(), float(random.choice([2, 4])), True
        return self.state(), 0.0, False


# ALGO LOGIC: initialize agent here:
class QNetwork(nn.Module):
    def __init__(self, n_atoms=101, v_min=-100, v_max=100):
        super(QNetwork, self).__init__()
        self.n_atoms = n_atoms
        self.register_buffer("atoms", torch.linspace(v_min, v_max, steps=n_atoms))
        self.n = 2
        self.network = nn.Sequential(
            nn.Linear(5, 32),
            nn.ReLU(),
            nn.Linear(32, self.n * n_atoms)
        )

    def forward(self, x):
        return self.network(x)

    def get_action(self, x, action=None):
        logits = self.forward(x)
        # probability mass function for each action
        pmfs = torch.softmax(logits.view(len(x), self.n, self.n_atoms), dim=2)
        q_values = (pmfs * self.atoms).sum(2)
        if action is None:
            action = torch.argmax(q_values, 1)
        return action, pmfs[torch.arange(len(x)), action]


def linear_schedule(start_e: float, end_e: float, duration: int, t: int):
    slope = (end_e - start_e) / duration
    return max(slope * t + start_e, end_e)


# %%
args = argparse.Namespace(seed=1, learning_rate=5e-3, n_atoms=21, v_min=0.0, v_max=5.0, total_timesteps=1100, gamma=0.9, target_network_frequency=50,
                          max_grad_norm=0.5, batch_size=32, start_e=1, end_e=0.1, exploration_fraction=0.6, learning_starts=200, train_frequency=2)
random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)

env = Ladder()
q_network = QNetwork(n_atoms=args.n_atoms, v_min=args.v_min, v_max=args.v_max)
optimizer = optim.Adam(q_network.parameters(), lr=args.learning_rate, eps=0.01 / args.batch_size)
target_network = QNetwork(n_atoms=args.n_atoms, v_min=args.v_min, v_max=args.v_max)
target_network.load_state_dict(q_network.state_dict())
rb, losses = [], []

# %%
obs = env.reset()
for global_step in range(args.total_timesteps):
    epsilon = linear_schedule(args.start_e, args.end_e, args.exploration_fraction * args.total_timesteps, global_step)
    if random.random() < epsilon:
        action = int(random.random() < 0.7)
    else:
        actions, pmf = q_network.get_action(torch.Tensor(obs))
        action = actions.cpu().numpy()[0]
    next_obs, reward, done = env.step(action)
    rb.append((obs[0], action, next_obs[0], [float(done)], [reward]))
    obs = env.reset() if done else next_obs

    # ALGO LOGIC: training.
    if global_step > args.learning_starts and global_step % args.train_frequency == 0:
        s, a, s2, d, r = (torch.tensor(np.array(k, dtype=np.float32)) for k in zip(*random.sample(rb, args.batch_size)))

        with torch.no_grad():
            _, next_pmfs = target_network.get_action(s2)
            next_atoms = r + args.gamma * target_network.atoms * (1 - d)
            # projection
            delta_z = target_network.atoms[1] - target_network.atoms[0]
            tz = next_atoms.clamp(args.v_min, args.v_max)

            b = (tz - args.v_min) / delta_z
            l = b.floor().clamp(0, args.n_atoms - 1)
            u = b.ceil().clamp(0, args.n_atoms - 1)
            # (l == u).float() handles the case where bj is exactly an integer
            d_m_l = (u + (l == u).float() - b) * next_pmfs
            d_m_u = (b - l) * next_pmfs
            target_pmfs = torch.zeros_like(next_pmfs)
            for i in range(target_pmfs.size(0)):
                target_pmfs[i].index_add_(0, l[i].long(), d_m_l[i])
                target_pmfs[i].index_add_(0, u[i].long(), d_m_u[i])

        _, old_pmfs = q_network.get_action(s, a.long().flatten())
        loss = (-(target_pmfs * old_pmfs.clamp(min=1e-5, max=1 - 1e-5).log()).sum(-1)).mean()
        losses.append(loss.item())

        # optimize the model
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(q_network.parameters()), args.max_grad_norm)
        optimizer.step()

        # update the target network
        if global_step % args.target_network_frequency == 0:
            target_network.load_state_dict(q_network.state_dict())

# %%
with torch.no_grad():
    greedy, pmfs = q_network.get_action(torch.eye(5)[:4])
    values = (pmfs * q_network.atoms).sum(1)
    two, four = pmfs[3, 7:10].sum().item(), pmfs[3, 15:18].sum().item()
print(losses[0], losses[-1], greedy.tolist(), values.tolist(), two, four)
assert greedy.tolist() == [1] * 4 and two > 0.25 and four > 0.25 and abs(values[3].item() - 3) < 0.5
