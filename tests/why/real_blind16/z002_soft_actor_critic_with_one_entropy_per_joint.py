# https://github.com/sunwuzhou03/reinforcement-learning-lab/issues/1
import numpy as np
import torch
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)


class PolicyNetContinuous(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim, action_bound):
        super(PolicyNetContinuous, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim, hidden_dim)
        self.fc_mu = torch.nn.Linear(hidden_dim, action_dim)
        self.fc_std = torch.nn.Linear(hidden_dim, action_dim)
        self.action_bound = action_bound

    def forward(self, x):
        x = F.relu(self.fc1(x))
        mu = self.fc_mu(x)
        std = F.softplus(self.fc_std(x))
        dist = Normal(mu, std)
        normal_sample = dist.rsample()
        log_prob = dist.log_prob(normal_sample)
        action = torch.tanh(normal_sample)
        log_prob = log_prob - torch.log(1 - torch.tanh(action).pow(2) + 1e-7)
        action = action * self.action_bound
        return action, log_prob


class QValueNetContinuous(torch.nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super(QValueNetContinuous, self).__init__()
        self.fc1 = torch.nn.Linear(state_dim + action_dim, hidden_dim)
        self.fc_out = torch.nn.Linear(hidden_dim, 1)

    def forward(self, x, a):
        return self.fc_out(F.relu(self.fc1(torch.cat([x, a], dim=1))))


class SACContinuous:
    def __init__(self, state_dim, hidden_dim, action_dim, action_bound, lr, tau, gamma):
        self.actor = PolicyNetContinuous(state_dim, hidden_dim, action_dim, action_bound)
        self.critic_1 = QValueNetContinuous(state_dim, hidden_dim, action_dim)
        self.target_critic_1 = QValueNetContinuous(state_dim, hidden_dim, action_dim)
        self.target_critic_1.load_state_dict(self.critic_1.state_dict())
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_1_optimizer = torch.optim.Adam(self.critic_1.parameters(), lr=lr)
        self.log_alpha = torch.tensor(np.log(0.01), dtype=torch.float)
        self.log_alpha.requires_grad = True
        self.log_alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=lr)
        self.target_entropy = -action_dim
        self.gamma = gamma
        self.tau = tau

    def calc_target(self, rewards, next_states, dones):
        next_actions, log_prob = self.actor(next_states)
        entropy = -log_prob
        q1_value = self.target_critic_1(next_states, next_actions)
        next_value = q1_value + self.log_alpha.exp() * entropy
        return rewards + self.gamma * next_value * (1 - dones)

    def update(self, states, actions, rewards, next_states, dones):
        td_target = self.calc_target(rewards, next_states, dones)
        critic_1_loss = torch.mean(F.mse_loss(self.critic_1(states, actions), td_target.detach()))
        self.critic_1_optimizer.zero_grad()
        critic_1_loss.backward()
        self.critic_1_optimizer.step()

        new_actions, log_prob = self.actor(states)
        entropy = -log_prob
        q1_value = self.critic_1(states, new_actions)
        actor_loss = torch.mean(-self.log_alpha.exp() * entropy - q1_value)
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        alpha_loss = torch.mean((entropy - self.target_entropy).detach() * self.log_alpha.exp())
        self.log_alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.log_alpha_optimizer.step()
        for target, param in zip(self.target_critic_1.parameters(), self.critic_1.parameters()):
            target.data.copy_(target.data * (1.0 - self.tau) + param.data * self.tau)
        return critic_1_loss.item()


# %%
agent = SACContinuous(state_dim=24, hidden_dim=32, action_dim=4, action_bound=1.0, lr=3e-4, tau=0.005, gamma=0.99)
for i_episode in range(5):
    states, next_states = torch.randn(64, 24), torch.randn(64, 24)
    actions, rewards = torch.rand(64, 4) * 2 - 1, torch.randn(64, 1)
    dones = torch.zeros(64, 1)
    print(agent.update(states, actions, rewards, next_states, dones))
