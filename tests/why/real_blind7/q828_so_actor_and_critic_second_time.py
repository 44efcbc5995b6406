# https://stackoverflow.com/questions/65815598
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2), nn.Softmax(dim=-1))
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
actor_optim = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)

# %%
state, next_state = torch.randn(5, 4), torch.randn(5, 4)
reward, gamma = torch.rand(5), 0.99
dist = Categorical(actor(state))
action = dist.sample()
log_prob = dist.log_prob(action)

value = critic(state).squeeze(-1)
next_value = critic(next_state).squeeze(-1).detach()
advantage = reward + gamma * next_value - value

# %%
actor_loss = -(log_prob * advantage).mean()
critic_loss = advantage.pow(2).mean()

actor_optim.zero_grad()
actor_loss.backward()
actor_optim.step()

critic_optim.zero_grad()
critic_loss.backward()
critic_optim.step()
