# https://github.com/bentrevett/pytorch-rl/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, dropout=0.1):
        super().__init__()
        self.fc_1 = nn.Linear(input_dim, hidden_dim)
        self.fc_2 = nn.Linear(hidden_dim, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.fc_2(F.relu(self.dropout(self.fc_1(x))))


class ActorCritic(nn.Module):
    def __init__(self, actor, critic):
        super().__init__()
        self.actor = actor
        self.critic = critic

    def forward(self, state):
        return self.actor(state), self.critic(state)


class Pole:
    def reset(self):
        self.state = 0.1 * (torch.rand(4) - 0.5)
        self.steps = 0
        return self.state

    def step(self, action):
        x, v, angle, spin = self.state
        push = 1.0 if action == 1 else -1.0
        self.state = torch.stack([x + 0.1 * v, v + 0.1 * push, angle + 0.1 * spin, spin + 0.2 * angle - 0.1 * push])
        self.steps += 1
        return self.state, 1.0, bool(self.state[2].abs() > 0.3 or self.steps >= 60)


def train(env, policy, optimizer, discount_factor):
    policy.train()
    log_prob_actions, values, rewards, done = [], [], [], False
    state = env.reset()
    while not done:
        action_pred, value_pred = policy(state.unsqueeze(0))
        dist = Categorical(F.softmax(action_pred, dim=-1))
        action = dist.sample()
        state, reward, done = env.step(action.item())
        log_prob_actions.append(dist.log_prob(action))
        values.append(value_pred)
        rewards.append(reward)
    returns = calculate_returns(rewards, discount_factor)
    return sum(rewards), (returns, torch.cat(log_prob_actions), torch.cat(values).squeeze(-1))


def calculate_returns(rewards, discount_factor):
    returns, R = [], 0
    for r in reversed(rewards):
        R = r + R * discount_factor
        returns.insert(0, R)
    returns = torch.tensor(returns)
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def update_policy(returns, log_prob_actions, values, optimizer):
    returns = returns.detach()
    policy_loss = - (returns * log_prob_actions).sum()
    value_loss = F.smooth_l1_loss(values, returns).sum()
    optimizer.zero_grad()
    policy_loss.backward()
    value_loss.backward()
    optimizer.step()
    return policy_loss.item(), value_loss.item()


# %%
env = Pole()
policy = ActorCritic(MLP(4, 32, 2), MLP(4, 32, 1))
optimizer = optim.Adam(policy.parameters(), lr=0.01)
rewards = []
for episode in range(1, 31):
    episode_reward, gathered = train(env, policy, optimizer, discount_factor=0.99)
    policy_loss, value_loss = update_policy(*gathered, optimizer)
    rewards.append(episode_reward)
    if episode % 10 == 0:
        print(f'| Episode: {episode:3} | Mean Train Rewards: {sum(rewards[-10:]) / 10:5.1f} |')

# %%
told = []
for opinion in (0.0, 1.0, -1.0):
    torch.manual_seed(1)
    _, (returns, log_prob_actions, values) = train(env, policy, optimizer, discount_factor=0.99)
    copy = ActorCritic(MLP(4, 32, 2), MLP(4, 32, 1))
    told.append(update_policy(returns, log_prob_actions, values + opinion * returns.abs(), optim.SGD(copy.parameters(), lr=0.0))[0])
print("the policy's loss under three critics:", told)
