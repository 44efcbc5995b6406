# https://github.com/ikostrikov/pytorch-ddpg-naf/issues/1
from collections import namedtuple

import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.optim import Adam

torch.manual_seed(0)

Transition = namedtuple('Transition', 'state action mask next_state reward')


def soft_update(target, source, tau):
    for old, new in zip(target.parameters(), source.parameters()):
        old.data.mul_(1 - tau).add_(new.data, alpha=tau)


class Policy(nn.Module):
    """mu(x), V(x), and the advantage of an action as a quadratic form around mu."""

    def __init__(self, hidden_size, num_inputs, num_outputs):
        super(Policy, self).__init__()
        self.num_outputs = num_outputs
        self.bn0 = nn.BatchNorm1d(num_inputs)
        self.linear1 = nn.Linear(num_inputs, hidden_size)
        self.bn1 = nn.BatchNorm1d(hidden_size)
        self.linear2 = nn.Linear(hidden_size, hidden_size)
        self.bn2 = nn.BatchNorm1d(hidden_size)

        self.V = nn.Linear(hidden_size, 1)
        self.mu = nn.Linear(hidden_size, num_outputs)
        self.L = nn.Linear(hidden_size, num_outputs ** 2)
        for head in (self.V, self.mu, self.L):
            head.weight.data.mul_(0.1)
            head.bias.data.mul_(0.1)

    def lower_triangle(self, x):
        L = self.L(x).view(-1, self.num_outputs, self.num_outputs)
        return torch.tril(L, diagonal=-1) + torch.diag_embed(L.diagonal(dim1=1, dim2=2).exp())

    def forward(self, x, u=None):
        x = self.bn0(x)
        x = torch.tanh(self.linear1(x))
        x = torch.tanh(self.linear2(x))
        V = self.V(x)
        mu = torch.tanh(self.mu(x))
        if u is None:
            return mu, None, V
        L = self.lower_triangle(x)
        distance = torch.bmm(L.transpose(1, 2), (u - mu).unsqueeze(2)).squeeze(2)
        A = -0.5 * distance.pow(2).sum(1, keepdim=True)
        return mu, A + V, V


class NAF:
    def __init__(self, gamma, tau, hidden_size, num_inputs, num_outputs):
        self.gamma = gamma
        self.tau = tau
        self.model = Policy(hidden_size, num_inputs, num_outputs)
        self.target_model = Policy(hidden_size, num_inputs, num_outputs)
        self.target_model.load_state_dict(self.model.state_dict())
        self.optimizer = Adam(self.model.parameters(), lr=1e-3)
        self.criterion = nn.MSELoss()

    def update_parameters(self, batch):
        state, action, mask, next_state, reward = (Variable(torch.cat(column)) for column in batch)
        with torch.no_grad():
            _, _, next_state_values = self.target_model(next_state)
        expected_values = reward.unsqueeze(1) + self.gamma * mask.unsqueeze(1) * next_state_values

        _, state_action_values, _ = self.model(state, action)
        loss = self.criterion(state_action_values, expected_values)

        self.optimizer.zero_grad()
        loss.backward()
        for param in self.model.parameters():
            param.grad.data.clamp(-1, 1)
        self.optimizer.step()
        soft_update(self.target_model, self.model, self.tau)
        return loss.item()


# %%
agent = NAF(gamma=0.99, tau=0.001, hidden_size=64, num_inputs=3, num_outputs=2)
transitions = [Transition(torch.randn(1, 3), torch.rand(1, 2) * 2 - 1, torch.ones(1), torch.randn(1, 3), torch.randn(1))
               for _ in range(32)]
batch = Transition(*zip(*transitions))

# %%
for updates in range(3):
    print(agent.update_parameters(batch))
