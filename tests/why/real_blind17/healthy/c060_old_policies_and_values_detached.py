# https://github.com/vietnh1009/Super-mario-bros-PPO-pytorch/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)


class PPO(nn.Module):
    def __init__(self, num_inputs, num_actions):
        super(PPO, self).__init__()
        self.conv1 = nn.Conv2d(num_inputs, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.linear = nn.Linear(8 * 16, 64)
        self.critic_linear = nn.Linear(64, 1)
        self.actor_linear = nn.Linear(64, num_actions)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.orthogonal_(module.weight, nn.init.calculate_gain('relu'))
                nn.init.constant_(module.bias, 0)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.linear(x.view(x.size(0), -1))
        return self.actor_linear(x), self.critic_linear(x)


class MultipleEnvironments:
    """On four by four cells; reached is the lower right corner, or sixteen steps are over."""

    def __init__(self, num_envs):
        self.at = torch.zeros(num_envs, 2, dtype=torch.long)
        self.age = torch.zeros(num_envs)
        self.moves = torch.tensor([[1, 0], [0, 1], [-1, 0], [0, -1]])

    def observe(self):
        obs = torch.zeros(len(self.at), 1, 4, 4)
        obs[torch.arange(len(self.at)), 0, self.at[:, 0], self.at[:, 1]] = 1.0
        return obs

    def step(self, action):
        self.at = (self.at + self.moves[action]).clamp(0, 3)
        self.age += 1
        reached = (self.at == 3).all(1)
        reward = reached.float() - 0.05
        done = reached | (self.age >= 16)
        self.at[done], self.age[done] = 0, 0.0
        return self.observe(), reward, done.float(), reached


# %%
envs = MultipleEnvironments(16)
model = PPO(1, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
num_local_steps, gamma, tau, epsilon, beta, batch_size = 32, 0.9, 1.0, 0.2, 0.01, 4
curr_states, arrivals, first_ratios = envs.observe(), [], []

# %%
for curr_episode in range(12):
    old_log_policies, actions, values, states, rewards, dones = [], [], [], [], [], []
    reached_now = 0
    for _ in range(num_local_steps):
        states.append(curr_states)
        logits, value = model(curr_states)
        values.append(value.squeeze())
        policy = F.softmax(logits, dim=1)
        old_m = Categorical(policy)
        action = old_m.sample()
        actions.append(action)
        old_log_policies.append(old_m.log_prob(action))
        curr_states, reward, done, reached = envs.step(action)
        rewards.append(reward)
        dones.append(done)
        reached_now += reached.sum().item()
    arrivals.append(reached_now)

    _, next_value = model(curr_states)
    next_value = next_value.squeeze()
    old_log_policies = torch.cat(old_log_policies).detach()
    actions = torch.cat(actions)
    values = torch.cat(values).detach()
    states = torch.cat(states)
    gae, R = 0, []
    for value, reward, done in list(zip(values.view(num_local_steps, -1), rewards, dones))[::-1]:
        gae = gae * gamma * tau * (1 - done)
        gae = gae + reward + gamma * next_value.detach() * (1 - done) - value.detach()
        next_value = value
        R.append(gae + value)
    R = torch.cat(R[::-1]).detach()
    advantages = R - values
    for i in range(3):
        indice = torch.randperm(len(states))
        for batch_indices in indice.chunk(batch_size):
            logits, value = model(states[batch_indices])
            new_m = Categorical(F.softmax(logits, dim=1))
            new_log_policy = new_m.log_prob(actions[batch_indices])
            ratio = torch.exp(new_log_policy - old_log_policies[batch_indices])
            if i == 0 and batch_indices[0] == indice[0]:
                first_ratios.append(ratio.detach())
            actor_loss = -torch.mean(torch.min(ratio * advantages[batch_indices],
                                               torch.clamp(ratio, 1.0 - epsilon, 1.0 + epsilon) * advantages[batch_indices]))
            critic_loss = F.smooth_l1_loss(R[batch_indices], value.squeeze())
            entropy_loss = torch.mean(new_m.entropy())
            total_loss = actor_loss + critic_loss - beta * entropy_loss
            optimizer.zero_grad()
            total_loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()

# %%
ones = all(torch.allclose(r, torch.ones_like(r), atol=1e-4) for r in first_ratios)
print(arrivals, ones)
assert ones and all(p.grad is not None for p in model.parameters())
assert arrivals[-1] > 3 * max(arrivals[0], 1)
