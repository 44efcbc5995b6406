# https://github.com/ikostrikov/pytorch-ddpg-naf/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, num_inputs, num_outputs, hidden_size=32):
        super(Policy, self).__init__()
        self.linear1 = nn.Linear(num_inputs, hidden_size)
        self.V = nn.Linear(hidden_size, 1)
        self.mu = nn.Linear(hidden_size, num_outputs)
        self.L = nn.Linear(hidden_size, num_outputs)

    def forward(self, x, u=None):
        x = torch.tanh(self.linear1(x))
        V, mu = self.V(x), torch.tanh(self.mu(x))
        Q = None
        if u is not None:
            A = -0.5 * ((u - mu) ** 2 * torch.exp(self.L(x))).sum(1, keepdim=True)
            Q = A + V
        return mu, Q, V


def soft_update(target, source, tau):
    for target_param, param in zip(target.parameters(), source.parameters()):
        target_param.data.copy_(target_param.data * (1.0 - tau) + param.data * tau)


class NAF:
    def __init__(self, gamma=0.99, tau=0.01):
        self.model, self.target_model = Policy(4, 2), Policy(4, 2)
        self.target_model.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.gamma, self.tau = gamma, tau

    def update_parameters(self, state_batch, action_batch, reward_batch, mask_batch, next_state_batch):
        _, _, next_state_values = self.target_model(next_state_batch)
        next_state_values = next_state_values.detach()
        expected_state_action_values = reward_batch + (self.gamma * mask_batch + next_state_values)
        _, state_action_values, _ = self.model(state_batch, action_batch)
        loss = F.mse_loss(state_action_values, expected_state_action_values)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimizer.step()
        soft_update(self.target_model, self.model, self.tau)
        return loss, expected_state_action_values


# %%
agent = NAF()
mask_batch = torch.ones(16, 1)
mask_batch[::4] = 0
for updates in range(4):
    state_batch, next_state_batch = torch.randn(16, 4), torch.randn(16, 4)
    action_batch, reward_batch = torch.rand(16, 2) * 2 - 1, torch.ones(16, 1)
    loss, expected = agent.update_parameters(state_batch, action_batch, reward_batch, mask_batch, next_state_batch)
    print(updates, loss.item(), expected[mask_batch == 0].mean().item())
