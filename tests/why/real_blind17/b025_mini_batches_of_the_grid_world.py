# https://github.com/RITCHIEHuang/DeepRL_Algorithms/issues/13
import math

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)
FLOAT = torch.FloatTensor


class DiscretePolicy(nn.Module):
    def __init__(self, dim_state, dim_action, dim_hidden=32, activation=nn.LeakyReLU):
        super(DiscretePolicy, self).__init__()
        self.policy = nn.Sequential(nn.Linear(dim_state, dim_hidden), activation(),
                                    nn.Linear(dim_hidden, dim_action), nn.Softmax(dim=-1))

    def forward(self, x):
        return Categorical(self.policy(x))

    def get_log_prob(self, state, action):
        return self.forward(state).log_prob(action)

    def get_action_log_prob(self, states):
        dist = self.forward(states)
        action = dist.sample()
        return action, dist.log_prob(action)

    def get_entropy(self, states):
        return self.forward(states).entropy().mean()


def estimate_advantages(rewards, masks, values, gamma, tau):
    deltas = torch.zeros(rewards.size(0), 1)
    advantages = torch.zeros(rewards.size(0), 1)
    prev_value, prev_advantage = 0, 0
    for i in reversed(range(rewards.size(0))):
        deltas[i] = rewards[i] + gamma * prev_value * masks[i] - values[i]
        advantages[i] = deltas[i] + gamma * tau * prev_advantage * masks[i]
        prev_value, prev_advantage = values[i, 0], advantages[i, 0]
    returns = values + advantages
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-10)
    return advantages, returns


def ppo_step(policy_net, value_net, optimizer_policy, optimizer_value, states, actions, returns, advantages,
             old_log_probs, clip_epsilon, l2_reg, ent_coeff=0):
    """update critic"""
    value_loss = nn.MSELoss()(value_net(states), returns)
    for param in value_net.parameters():
        value_loss = value_loss + param.pow(2).sum() * l2_reg
    optimizer_value.zero_grad()
    value_loss.backward()
    optimizer_value.step()

    """update policy"""
    log_probs = policy_net.get_log_prob(states, actions)
    ratio = torch.exp(log_probs - old_log_probs)
    surr1 = ratio * advantages
    surr2 = torch.clamp(ratio, 1.0 - clip_epsilon, 1.0 + clip_epsilon) * advantages
    policy_surr = -torch.min(surr1, surr2).mean()
    optim_gain = policy_surr - ent_coeff * policy_net.get_entropy(states)
    optimizer_policy.zero_grad()
    optim_gain.backward()
    torch.nn.utils.clip_grad_norm_(policy_net.parameters(), 40)
    optimizer_policy.step()
    return value_loss, policy_surr, surr1


class GridWorld:
    moves = FLOAT([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def reset(self):
        self.pos, self.t = torch.randint(0, 5, (2,)).float(), 0
        return self.pos / 4

    def step(self, action):
        self.pos = (self.pos + self.moves[action]).clamp(0, 4)
        self.t += 1
        goal = bool((self.pos == 4).all())
        return self.pos / 4, 6.0 if goal else -0.05, goal or self.t == 20


# %%
env, policy_net, value_net = GridWorld(), DiscretePolicy(2, 4), nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 1))
optimizer_p = optim.Adam(policy_net.parameters(), lr=3e-3)
optimizer_v = optim.Adam(value_net.parameters(), lr=3e-3)

for i_iter in range(1, 4):
    memory, state = [], env.reset()
    while len(memory) < 256:
        with torch.no_grad():
            action, log_prob = policy_net.get_action_log_prob(state)
        next_state, reward, done = env.step(action.item())
        memory.append((state, action, reward, 0.0 if done else 1.0, log_prob))
        state = env.reset() if done else next_state
    batch_state, batch_action = torch.stack([m[0] for m in memory]), torch.stack([m[1] for m in memory])
    batch_reward, batch_mask = FLOAT([m[2] for m in memory]), FLOAT([m[3] for m in memory])
    batch_log_prob = torch.stack([m[4] for m in memory])
    with torch.no_grad():
        batch_value = value_net(batch_state)
    batch_advantage, batch_return = estimate_advantages(batch_reward, batch_mask, batch_value, 0.99, 0.95)
    for _ in range(4):
        index = torch.randperm(256)
        for i in range(math.ceil(256 / 64)):
            ind = index[i * 64:(i + 1) * 64]
            value_loss, policy_surr, surr1 = ppo_step(
                policy_net, value_net, optimizer_p, optimizer_v, batch_state[ind], batch_action[ind],
                batch_return[ind], batch_advantage[ind], batch_log_prob[ind], 0.2, 1e-3)
    print(f"Iter: {i_iter}, total reward: {batch_reward.sum():.4f}, value loss: {value_loss.item():.4f}")
