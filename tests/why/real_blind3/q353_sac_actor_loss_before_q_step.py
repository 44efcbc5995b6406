# https://github.com/TianhongDai/reinforcement-learning-algorithms/issues/8
import copy

import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)


class flatten_mlp(nn.Module):
    def __init__(self, input_dims, hidden_size, action_dims):
        super(flatten_mlp, self).__init__()
        self.fc1 = nn.Linear(input_dims + action_dims, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.q_value = nn.Linear(hidden_size, 1)

    def forward(self, obs, action):
        x = torch.relu(self.fc1(torch.cat([obs, action], dim=1)))
        return self.q_value(torch.relu(self.fc2(x)))


class tanh_gaussian_actor(nn.Module):
    def __init__(self, input_dims, action_dims, hidden_size):
        super(tanh_gaussian_actor, self).__init__()
        self.fc1 = nn.Linear(input_dims, hidden_size)
        self.mean, self.log_std = nn.Linear(hidden_size, action_dims), nn.Linear(hidden_size, action_dims)

    def forward(self, obs):
        x = torch.relu(self.fc1(obs))
        dist = Normal(self.mean(x), self.log_std(x).clamp(-20, 2).exp())
        pre_tanh = dist.rsample()
        action = torch.tanh(pre_tanh)
        log_prob = (dist.log_prob(pre_tanh) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
        return action, log_prob


# %%
class sac_agent:
    def __init__(self, obs_dims=4, action_dims=2, hidden_size=16, lr=3e-4):
        self.qf1, self.qf2 = flatten_mlp(obs_dims, hidden_size, action_dims), flatten_mlp(obs_dims, hidden_size, action_dims)
        self.target_qf1, self.target_qf2 = copy.deepcopy(self.qf1), copy.deepcopy(self.qf2)
        self.actor_net = tanh_gaussian_actor(obs_dims, action_dims, hidden_size)
        self.qf1_optim = torch.optim.Adam(self.qf1.parameters(), lr=lr)
        self.qf2_optim = torch.optim.Adam(self.qf2.parameters(), lr=lr)
        self.actor_optim = torch.optim.Adam(self.actor_net.parameters(), lr=lr)
        self.alpha, self.gamma = 0.2, 0.99

    def _update_newtork(self, obses, actions, rewards, obses_, inverse_dones):
        actions_, log_prob = self.actor_net(obses)
        # get the q_value for new actions
        q_actions_ = torch.min(self.qf1(obses, actions_), self.qf2(obses, actions_))
        actor_loss = (self.alpha * log_prob - q_actions_).mean()
        # q value function loss
        with torch.no_grad():
            actions_next_, log_prob_next = self.actor_net(obses_)
            next_value = torch.min(self.target_qf1(obses_, actions_next_), self.target_qf2(obses_, actions_next_))
            target_q_value = rewards + inverse_dones * self.gamma * (next_value - self.alpha * log_prob_next)
        qf1_loss = (self.qf1(obses, actions) - target_q_value).pow(2).mean()
        qf2_loss = (self.qf2(obses, actions) - target_q_value).pow(2).mean()
        # qf1
        self.qf1_optim.zero_grad()
        qf1_loss.backward()
        self.qf1_optim.step()
        # qf2
        self.qf2_optim.zero_grad()
        qf2_loss.backward()
        self.qf2_optim.step()
        # policy loss
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        return qf1_loss.item(), qf2_loss.item(), actor_loss.item()


# %%
agent = sac_agent()
batch = torch.randn(32, 4), torch.rand(32, 2) * 2 - 1, torch.randn(32, 1), torch.randn(32, 4), torch.ones(32, 1)

# %%
print(agent._update_newtork(*batch))
