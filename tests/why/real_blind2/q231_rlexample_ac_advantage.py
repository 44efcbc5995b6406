# https://github.com/ucla-rlcourse/RLexample/issues/12
# Actor Critic on "pong", observations are small random vectors here
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

gamma, value_loss_coef, max_grad_norm, batch_size = 0.99, 0.5, 10, 2
rng = np.random.RandomState(87)


class AC(nn.Module):
    def __init__(self, num_actions=2):
        super().__init__()
        self.affine1 = nn.Linear(12, 16)
        self.action_head = nn.Linear(16, num_actions)
        self.value_head = nn.Linear(16, 1)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)

    def select_action(self, x):
        probs, state_value = self.forward(torch.from_numpy(x).float().unsqueeze(0))
        m = Categorical(probs)
        action = m.sample()
        self.saved_log_probs[-1].append((m.log_prob(action), state_value))
        return action


policy = AC()
optimizer = optim.RMSprop(policy.parameters(), lr=3e-4, weight_decay=0.99)

# %%
for i_episode in range(1, batch_size + 1):
    policy.rewards.append([])
    policy.saved_log_probs.append([])
    prev_x = None
    for t in range(6):
        cur_x = rng.rand(12)
        x = cur_x - prev_x if prev_x is not None else np.zeros(12)
        prev_x = cur_x
        action = policy.select_action(x)
        policy.rewards[-1].append(float(rng.choice([-1, 0, 1])))

# %%
# finish_episode
R = 0
policy_loss, value_loss, rewards = [], [], []
for episode_id, episode_reward_list in enumerate(policy.rewards):
    for i, r in enumerate(episode_reward_list):
        if i == len(episode_reward_list) - 1:
            R = torch.scalar_tensor(r)
        else:
            R = r + gamma * policy.saved_log_probs[episode_id][i + 1][1]
        rewards.append(R)
flatten_log_probs = [sample for episode in policy.saved_log_probs for sample in episode]
assert len(flatten_log_probs) == len(rewards)
for (log_prob, value), reward in zip(flatten_log_probs, rewards):
    advantage = reward - value  # A(s,a) = r + gamma V(s_t+1) - V(s_t)
    policy_loss.append(- log_prob * advantage)
    value_loss.append(F.smooth_l1_loss(value.reshape(-1), reward.reshape(-1)))
optimizer.zero_grad()
policy_loss = torch.stack(policy_loss).sum()
value_loss = torch.stack(value_loss).sum()
loss = policy_loss + value_loss_coef * value_loss

# what the value loss alone gives to the value head
value_only, = torch.autograd.grad(value_loss_coef * value_loss, policy.value_head.weight, retain_graph=True)

# %%
loss.backward()
print(policy.value_head.weight.grad - value_only)
