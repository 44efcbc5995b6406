# https://github.com/mimoralea/gdrl/pull/14
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
np.random.seed(0)


class FCQV(nn.Module):
    def __init__(self, input_dim, output_dim, hidden=16):
        super(FCQV, self).__init__()
        self.input_layer = nn.Linear(input_dim, hidden)
        self.hidden_layer = nn.Linear(hidden + output_dim, hidden)
        self.output_layer = nn.Linear(hidden, 1)

    def forward(self, state, action):
        x = torch.relu(self.input_layer(state))
        x = torch.relu(self.hidden_layer(torch.cat((x, action), dim=1)))
        return self.output_layer(x)


class FCDP(nn.Module):
    def __init__(self, input_dim, output_dim, hidden=16):
        super(FCDP, self).__init__()
        self.input_layer = nn.Linear(input_dim, hidden)
        self.output_layer = nn.Linear(hidden, output_dim)

    def forward(self, state):
        return torch.tanh(self.output_layer(torch.relu(self.input_layer(state))))


class DDPG():
    def __init__(self, tau=0.005, policy_max_grad_norm=float('inf'), value_max_grad_norm=float('inf'), gamma=0.99):
        self.tau, self.gamma = tau, gamma
        self.policy_max_grad_norm, self.value_max_grad_norm = policy_max_grad_norm, value_max_grad_norm

    def optimize_model(self, experiences):
        states, actions, rewards, next_states, is_terminals = experiences
        argmax_a_q_sp = self.target_policy_model(next_states)
        max_a_q_sp = self.target_value_model(next_states, argmax_a_q_sp)
        target_q_sa = rewards + self.gamma * max_a_q_sp * (1 - is_terminals)
        q_sa = self.online_value_model(states, actions)
        td_error = q_sa - target_q_sa.detach()
        value_loss = td_error.pow(2).mul(0.5).mean()
        self.value_optimizer.zero_grad()
        value_loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online_value_model.parameters(), self.value_max_grad_norm)
        self.value_optimizer.step()

        argmax_a_q_s = self.online_policy_model(states)
        max_a_q_s = self.online_value_model(states, argmax_a_q_s)
        policy_loss = -max_a_q_s.mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online_policy_model.parameters(), self.policy_max_grad_norm)
        self.policy_optimizer.step()
        return value_loss.item(), policy_loss.item()

    def update_networks(self, tau=None):
        tau = self.tau if tau is None else tau
        pairs = ((self.target_value_model, self.online_value_model), (self.target_policy_model, self.online_policy_model))
        for target_model, online_model in pairs:
            for target, online in zip(target_model.parameters(), online_model.parameters()):
                target_ratio = (1.0 - self.tau) * target.data
                online_ratio = self.tau * online.data
                mixed_weights = target_ratio + online_ratio
                target.data.copy_(mixed_weights)

    def train(self, episodes, nS=3, nA=1):
        global same_at_start
        self.target_value_model, self.online_value_model = FCQV(nS, nA), FCQV(nS, nA)
        self.target_policy_model, self.online_policy_model = FCDP(nS, nA), FCDP(nS, nA)
        self.update_networks(tau=1.0)
        same_at_start = all(torch.allclose(t, o) for t, o in zip(self.target_value_model.parameters(), self.online_value_model.parameters()))
        self.value_optimizer = optim.Adam(self.online_value_model.parameters(), lr=0.0003)
        self.policy_optimizer = optim.Adam(self.online_policy_model.parameters(), lr=0.0003)
        for episode in range(episodes):
            batch = (torch.randn(16, nS), torch.rand(16, nA) * 2 - 1, torch.randn(16, 1), torch.randn(16, nS), torch.zeros(16, 1))
            print(episode, self.optimize_model(batch))
            self.update_networks()


# %%
agent = DDPG()
agent.train(3)
