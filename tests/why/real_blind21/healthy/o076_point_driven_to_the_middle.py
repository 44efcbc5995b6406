# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/ddpg_continuous_action.py
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
args = SimpleNamespace(total_timesteps=1200, learning_rate=1e-3, gamma=0.9, tau=0.02, batch_size=64,
                       exploration_noise=0.2, learning_starts=200, policy_frequency=2)


class Env:
    def reset(self):
        self.pos, self.steps = torch.rand(1) * 4 - 2, 0
        return self.pos.clone()

    def step(self, action):
        self.pos = (self.pos + 0.5 * action).clamp(-3, 3)
        self.steps += 1
        return self.pos.clone(), -self.pos.abs().item(), self.steps >= 10


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 64)
        self.fc_mu = nn.Linear(64, 1)
        self.register_buffer("action_scale", torch.ones(1))

    def forward(self, x):
        return torch.tanh(self.fc_mu(F.relu(self.fc1(x)))) * self.action_scale


def evaluate(env, actor):
    total = 0.0
    for _ in range(10):
        obs, done = env.reset(), False
        while not done:
            with torch.no_grad():
                obs, reward, done = env.step(actor(obs[None])[0])
            total += reward / 10
    return total


# %%
env = Env()
actor, qf1, qf1_target, target_actor = Actor(), QNetwork(), QNetwork(), Actor()
target_actor.load_state_dict(actor.state_dict())
qf1_target.load_state_dict(qf1.state_dict())
q_optimizer = optim.Adam(list(qf1.parameters()), lr=args.learning_rate)
actor_optimizer = optim.Adam(list(actor.parameters()), lr=args.learning_rate)
before = evaluate(env, actor)

# %%
rb = []
obs = env.reset()
for global_step in range(args.total_timesteps):
    if global_step < args.learning_starts:
        actions = torch.rand(1) * 2 - 1
    else:
        with torch.no_grad():
            actions = actor(obs[None])[0]
            actions += torch.normal(0, actor.action_scale * args.exploration_noise)
            actions = actions.clamp(-1, 1)
    next_obs, reward, done = env.step(actions)
    rb.append((obs, next_obs, actions, torch.tensor([reward])))
    obs = env.reset() if done else next_obs

    if global_step > args.learning_starts:
        observations, next_observations, acts, rewards = map(
            torch.stack, zip(*[rb[i] for i in torch.randint(len(rb), (args.batch_size,)).tolist()]))
        with torch.no_grad():
            qf1_next_target = qf1_target(next_observations, target_actor(next_observations))
            next_q_value = rewards.flatten() + args.gamma * qf1_next_target.view(-1)
        qf1_loss = F.mse_loss(qf1(observations, acts).view(-1), next_q_value)
        q_optimizer.zero_grad()
        qf1_loss.backward()
        q_optimizer.step()

        if global_step % args.policy_frequency == 0:
            actor_loss = -qf1(observations, actor(observations)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            for net, target in ((actor, target_actor), (qf1, qf1_target)):
                for param, target_param in zip(net.parameters(), target.parameters()):
                    target_param.data.copy_(args.tau * param.data + (1 - args.tau) * target_param.data)

# %%
after = evaluate(env, actor)
print(before, after, qf1_loss.item())
assert after > -8 and after > before
assert all(p.grad is None for net in (target_actor, qf1_target) for p in net.parameters())
