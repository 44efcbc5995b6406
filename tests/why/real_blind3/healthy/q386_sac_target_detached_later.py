# https://github.com/quantumiracle/Popular-RL-Algorithms/issues/16
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


class SoftQNetwork(nn.Module):
    """Q of a sequence, with an LSTM."""

    def __init__(self, state_dim=4, action_dim=2, hidden=8):
        super().__init__()
        self.linear1 = nn.Linear(state_dim + action_dim, hidden)
        self.lstm1 = nn.LSTM(hidden, hidden)
        self.linear2 = nn.Linear(hidden, 1)

    def forward(self, state, action, hidden_in):
        x = torch.relu(self.linear1(torch.cat([state, action], -1)))
        x, hidden_out = self.lstm1(x, hidden_in)
        return self.linear2(x), hidden_out


class PolicyNetwork(nn.Module):
    def __init__(self, state_dim=4, action_dim=2, hidden=8):
        super().__init__()
        self.linear1 = nn.Linear(state_dim, hidden)
        self.mean, self.log_std = nn.Linear(hidden, action_dim), nn.Linear(hidden, action_dim)

    def evaluate(self, state):
        x = torch.relu(self.linear1(state))
        dist = torch.distributions.Normal(self.mean(x), self.log_std(x).clamp(-20, 2).exp())
        z = dist.rsample()
        action = torch.tanh(z)
        log_prob = dist.log_prob(z) - torch.log(1. - action.pow(2) + 1e-6)
        return action, log_prob.sum(-1, keepdim=True)


# %%
soft_q_net1, soft_q_net2, policy_net = SoftQNetwork(), SoftQNetwork(), PolicyNetwork()
target_soft_q_net1, target_soft_q_net2 = copy.deepcopy(soft_q_net1), copy.deepcopy(soft_q_net2)
soft_q_criterion1, soft_q_criterion2 = nn.MSELoss(), nn.MSELoss()
soft_q_optimizer1 = torch.optim.Adam(soft_q_net1.parameters(), lr=3e-4)
soft_q_optimizer2 = torch.optim.Adam(soft_q_net2.parameters(), lr=3e-4)
alpha, gamma = 0.2, 0.99
T, B = 5, 3
state, action, next_state = torch.randn(T, B, 4), torch.rand(T, B, 2) * 2 - 1, torch.randn(T, B, 4)
reward, done = torch.randn(T, B, 1), torch.zeros(T, B, 1)
hidden_in = (torch.zeros(1, B, 8), torch.zeros(1, B, 8))

# %%
# Training Q Function
predicted_q_value1, _ = soft_q_net1(state, action, hidden_in)
predicted_q_value2, _ = soft_q_net2(state, action, hidden_in)
new_next_action, next_log_prob = policy_net.evaluate(next_state)
predict_target_q1, _ = target_soft_q_net1(next_state, new_next_action, hidden_in)
predict_target_q2, _ = target_soft_q_net2(next_state, new_next_action, hidden_in)
target_q_min = torch.min(predict_target_q1, predict_target_q2) - alpha * next_log_prob
target_q_value = reward + (1 - done) * gamma * target_q_min  # if done==1, only reward
q_value_loss1 = soft_q_criterion1(predicted_q_value1, target_q_value.detach())  # detach: no gradients for the variable
q_value_loss2 = soft_q_criterion2(predicted_q_value2, target_q_value.detach())

soft_q_optimizer1.zero_grad()
q_value_loss1.backward()
soft_q_optimizer1.step()
soft_q_optimizer2.zero_grad()
q_value_loss2.backward()
soft_q_optimizer2.step()
print(q_value_loss1.item(), q_value_loss2.item())
