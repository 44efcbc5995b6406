# https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On-Second-Edition/issues/21
import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class NoisyLinear(nn.Linear):
    def __init__(self, in_features, out_features, sigma_init=0.017, bias=True):
        super(NoisyLinear, self).__init__(in_features, out_features, bias=bias)
        self.sigma_weight = nn.Parameter(torch.full((out_features, in_features), sigma_init))
        self.register_buffer("epsilon_weight", torch.zeros(out_features, in_features))
        if bias:
            self.sigma_bias = nn.Parameter(torch.full((out_features,), sigma_init))
            self.register_buffer("epsilon_bias", torch.zeros(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        std = math.sqrt(3 / self.in_features)
        self.weight.data.uniform_(-std, std)
        self.bias.data.uniform_(-std, std)

    def forward(self, input):
        self.epsilon_weight.normal_()
        bias = self.bias
        if bias is not None:
            self.epsilon_bias.normal_()
            bias = bias + self.sigma_bias * self.epsilon_bias
        return F.linear(input, self.weight + self.sigma_weight * self.epsilon_weight, bias)


class DQNConv1D(nn.Module):
    def __init__(self, shape, actions_n):
        super(DQNConv1D, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(shape[0], 16, 5),
            nn.ReLU(),
            nn.Conv1d(16, 16, 5),
            nn.ReLU(),
        )
        out_size = self._get_conv_out(shape)
        self.fc_val = nn.Sequential(
            nn.Linear(out_size, 64),
            nn.ReLU(),
            NoisyLinear(64, 1)
        )
        self.fc_adv = nn.Sequential(
            nn.Linear(out_size, 64),
            nn.ReLU(),
            NoisyLinear(64, actions_n)
        )

    def _get_conv_out(self, shape):
        o = self.conv(torch.zeros(1, *shape))
        return int(np.prod(o.size()))

    def forward(self, x):
        conv_out = self.conv(x).view(x.size()[0], -1)
        val = self.fc_val(conv_out)
        adv = self.fc_adv(conv_out)
        return val + (adv - adv.mean(dim=1, keepdim=True))


def calc_loss(batch, net, tgt_net, gamma, device="cpu"):
    states, actions, rewards, dones, next_states = batch
    states_v = torch.tensor(states).to(device)
    next_states_v = torch.tensor(next_states).to(device)
    actions_v = torch.tensor(actions).to(device)
    rewards_v = torch.tensor(rewards).to(device)
    done_mask = torch.BoolTensor(dones).to(device)
    state_action_values = net(states_v).gather(1, actions_v.unsqueeze(-1)).squeeze(-1)
    next_state_actions = net(next_states_v).max(1)[1]
    next_state_values = tgt_net(next_states_v).gather(1, next_state_actions.unsqueeze(-1)).squeeze(-1)
    next_state_values[done_mask] = 0.0
    expected_state_action_values = next_state_values.detach() * gamma + rewards_v
    return nn.MSELoss()(state_action_values, expected_state_action_values)


def batch_generator(prices, batch_size, bars=20):
    while True:
        at = np.random.randint(0, len(prices) - bars - 1, batch_size)
        states = np.stack([prices[i:i + bars].T for i in at]).astype(np.float32)
        next_states = np.stack([prices[i + 1:i + 1 + bars].T for i in at]).astype(np.float32)
        actions = np.random.randint(0, 3, batch_size)
        rewards = (np.sign(actions - 1) * (prices[at + bars, 0] - prices[at + bars - 1, 0])).astype(np.float32)
        dones = np.random.rand(batch_size) < 0.05
        yield states, actions, rewards, dones, next_states


# %%
prices = np.cumsum(0.01 * np.random.randn(500, 3), axis=0)
net = DQNConv1D((3, 20), actions_n=3)
tgt_net = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)

# %%
for step, batch in zip(range(10), batch_generator(prices, 32)):
    optimizer.zero_grad()
    loss_v = calc_loss(batch, net, tgt_net, gamma=0.99 ** 2)
    loss_v.backward()
    optimizer.step()
    if step % 5 == 0:
        tgt_net.load_state_dict(net.state_dict())
    print(step, loss_v.item())
