# https://github.com/huggingface/deep-rl-class/pull/70
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, s_size, a_size, h_size):
        super(Policy, self).__init__()
        self.fc1 = nn.Linear(s_size, h_size)
        self.fc2 = nn.Linear(h_size, a_size)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.softmax(x, dim=1)

    def act(self, state):
        probs = self.forward(state.unsqueeze(0))
        m = Categorical(probs)
        action = m.sample()
        return action.item(), m.log_prob(action)


policy = Policy(5, 2, 16)
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
gamma = 0.9

# %%
for i_episode in range(10):
    saved_log_probs = []
    rewards = []
    place = 2
    for t in range(8):
        action, log_prob = policy.act(F.one_hot(torch.tensor(place), 5).float())
        saved_log_probs.append(log_prob)
        place = min(4, max(0, place + (1 if action == 1 else -1)))
        rewards.append(1.0 if place == 4 else 0.1)
    discounts = [gamma**i for i in range(len(rewards)+1)]
    R = sum([a*b for a,b in zip(discounts, rewards)])
    weights = [R] * len(rewards)

    policy_loss = []
    for log_prob, weight in zip(saved_log_probs, weights):
        policy_loss.append(-log_prob * weight)
    policy_loss = torch.cat(policy_loss).sum()

    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
print(policy_loss.item())
