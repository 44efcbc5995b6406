# https://github.com/cross32768/Dreamer_PyTorch/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
state_dim, action_dim, hidden_dim, horizon = 6, 2, 8, 5
gamma, lambda_, clip_grad_norm = 0.99, 0.95, 100


class Prior(nn.Module):
    """The part of the recurrent state space model that imagines."""

    def __init__(self):
        super().__init__()
        self.fc_state_action = nn.Linear(state_dim + action_dim, 16)
        self.rnn = nn.GRUCell(16, hidden_dim)
        self.fc_mean = nn.Linear(hidden_dim, state_dim)
        self.fc_stddev = nn.Linear(hidden_dim, state_dim)

    def forward(self, state, action, rnn_hidden):
        hidden = F.elu(self.fc_state_action(torch.cat([state, action], dim=1)))
        rnn_hidden = self.rnn(hidden, rnn_hidden)
        stddev = F.softplus(self.fc_stddev(rnn_hidden)) + 0.1
        return Normal(self.fc_mean(rnn_hidden), stddev), rnn_hidden


class Head(nn.Module):
    """Rewards, values or actions of a state and its hidden state."""

    def __init__(self, out_dim):
        super().__init__()
        self.fc1 = nn.Linear(state_dim + hidden_dim, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, out_dim)

    def forward(self, state, rnn_hidden):
        hidden = F.elu(self.fc1(torch.cat([state, rnn_hidden], dim=1)))
        return self.fc3(F.elu(self.fc2(hidden)))


def lambda_return(rewards, values):
    target = values[-1]
    targets = [target]
    for n in range(len(rewards) - 2, -1, -1):
        target = rewards[n + 1] + gamma * ((1 - lambda_) * values[n + 1] + lambda_ * target)
        targets.insert(0, target)
    return torch.stack(targets)


# %%
rssm, reward_model, value_model, action_model = Prior(), Head(1), Head(1), Head(action_dim)
value_optimizer = torch.optim.Adam(value_model.parameters(), lr=8e-5, eps=1e-4)
action_optimizer = torch.optim.Adam(action_model.parameters(), lr=8e-5, eps=1e-4)

for update_step in range(5):
    state, rnn_hidden = torch.randn(20, state_dim), torch.randn(20, hidden_dim)
    imaginated_states = torch.zeros(horizon + 1, 20, state_dim)
    imaginated_rnn_hiddens = torch.zeros(horizon + 1, 20, hidden_dim)
    imaginated_states[0], imaginated_rnn_hiddens[0] = state, rnn_hidden
    for h in range(1, horizon + 1):
        action = torch.tanh(action_model(state, rnn_hidden))
        state_prior, rnn_hidden = rssm(state, action, rnn_hidden)
        state = state_prior.rsample()
        imaginated_states[h] = state
        imaginated_rnn_hiddens[h] = rnn_hidden

    flat_states = imaginated_states.view(-1, state_dim)
    flat_rnn_hiddens = imaginated_rnn_hiddens.view(-1, hidden_dim)
    imaginated_rewards = reward_model(flat_states, flat_rnn_hiddens).view(horizon + 1, -1)
    imaginated_values = value_model(flat_states, flat_rnn_hiddens).view(horizon + 1, -1)
    lambda_target_values = lambda_return(imaginated_rewards, imaginated_values)

    # update value model
    value_loss = 0.5 * F.mse_loss(imaginated_values, lambda_target_values.detach())
    value_optimizer.zero_grad()
    value_loss.backward(retain_graph=True)
    clip_grad_norm_(value_model.parameters(), clip_grad_norm)
    value_optimizer.step()

    # update action model (multiply -1 for gradient ascent)
    action_loss = -1 * lambda_target_values.mean()
    action_optimizer.zero_grad()
    action_loss.backward()
    clip_grad_norm_(action_model.parameters(), clip_grad_norm)
    action_optimizer.step()
    print(update_step, value_loss.item(), action_loss.item())
