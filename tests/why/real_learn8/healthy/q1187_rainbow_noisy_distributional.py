# https://github.com/Kaixhin/Rainbow/blob/master/agent.py
import math

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.5):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features).uniform_(-0.3, 0.3))
        self.weight_sigma = nn.Parameter(torch.full((out_features, in_features), std_init / math.sqrt(in_features)))
        self.register_buffer("weight_epsilon", torch.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.empty(out_features).uniform_(-0.3, 0.3))
        self.bias_sigma = nn.Parameter(torch.full((out_features,), std_init / math.sqrt(out_features)))
        self.register_buffer("bias_epsilon", torch.empty(out_features))
        self.reset_noise()

    def _scale_noise(self, size):
        x = torch.randn(size)
        return x.sign().mul_(x.abs().sqrt_())

    def reset_noise(self):
        epsilon_in, epsilon_out = self._scale_noise(self.in_features), self._scale_noise(self.out_features)
        self.weight_epsilon.copy_(epsilon_out.outer(epsilon_in))
        self.bias_epsilon.copy_(epsilon_out)

    def forward(self, input):
        if self.training:
            return F.linear(input, self.weight_mu + self.weight_sigma * self.weight_epsilon, self.bias_mu + self.bias_sigma * self.bias_epsilon)
        return F.linear(input, self.weight_mu, self.bias_mu)


class DQN(nn.Module):
    def __init__(self, action_space=3, atoms=11):
        super().__init__()
        self.action_space, self.atoms = action_space, atoms
        self.convs = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.fc_h_v, self.fc_h_a = NoisyLinear(16, 16), NoisyLinear(16, 16)
        self.fc_z_v, self.fc_z_a = NoisyLinear(16, atoms), NoisyLinear(16, action_space * atoms)

    def forward(self, x, log=False):
        x = self.convs(x)
        v, a = self.fc_z_v(F.relu(self.fc_h_v(x))), self.fc_z_a(F.relu(self.fc_h_a(x)))
        v, a = v.view(-1, 1, self.atoms), a.view(-1, self.action_space, self.atoms)
        q = v + a - a.mean(1, keepdim=True)
        return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)

    def reset_noise(self):
        for name, module in self.named_children():
            if "fc" in name:
                module.reset_noise()


class Agent:
    def __init__(self):
        self.Vmin, self.Vmax, self.atoms, self.batch_size, self.discount, self.n = -10, 10, 11, 8, 0.99, 3
        self.support = torch.linspace(self.Vmin, self.Vmax, self.atoms)
        self.delta_z = (self.Vmax - self.Vmin) / (self.atoms - 1)
        self.online_net, self.target_net = DQN(), DQN()
        self.online_net.train()
        self.update_target_net()
        self.target_net.train()
        for param in self.target_net.parameters():
            param.requires_grad = False
        self.optimiser = optim.Adam(self.online_net.parameters(), lr=1e-3, eps=1.5e-4)

    def update_target_net(self):
        self.target_net.load_state_dict(self.online_net.state_dict())

    def act(self, state):
        with torch.no_grad():
            return (self.online_net(state.unsqueeze(0)) * self.support).sum(2).argmax(1).item()

    def learn(self, states, actions, returns, next_states, nonterminals, weights):
        log_ps = self.online_net(states, log=True)
        log_ps_a = log_ps[range(self.batch_size), actions]
        with torch.no_grad():
            pns = self.online_net(next_states)
            argmax_indices_ns = (self.support.expand_as(pns) * pns).sum(2).argmax(1)
            self.target_net.reset_noise()
            pns_a = self.target_net(next_states)[range(self.batch_size), argmax_indices_ns]
            Tz = returns.unsqueeze(1) + nonterminals * (self.discount**self.n) * self.support.unsqueeze(0)
            b = (Tz.clamp(min=self.Vmin, max=self.Vmax) - self.Vmin) / self.delta_z
            l, u = b.floor().to(torch.int64), b.ceil().to(torch.int64)
            l[(u > 0) * (l == u)] -= 1
            u[(l < (self.atoms - 1)) * (l == u)] += 1
            m = states.new_zeros(self.batch_size, self.atoms)
            offset = torch.linspace(0, ((self.batch_size - 1) * self.atoms), self.batch_size).unsqueeze(1).expand(self.batch_size, self.atoms).to(actions)
            m.view(-1).index_add_(0, (l + offset).view(-1), (pns_a * (u.float() - b)).view(-1))
            m.view(-1).index_add_(0, (u + offset).view(-1), (pns_a * (b - l.float())).view(-1))
        loss = -torch.sum(m * log_ps_a, 1)
        self.online_net.zero_grad()
        (weights * loss).mean().backward()
        clip_grad_norm_(self.online_net.parameters(), 10)
        self.optimiser.step()
        return loss.detach().cpu().numpy()


dqn = Agent()
before = dqn.online_net.fc_z_a.weight_sigma.detach().clone()

# %%
for T in range(3):
    dqn.online_net.reset_noise()
    action = dqn.act(torch.randn(6))
    priorities = dqn.learn(torch.randn(8, 6), torch.randint(0, 3, (8,)), torch.randn(8), torch.randn(8, 6), torch.ones(8, 1), torch.rand(8))
    print(action, priorities.mean())
    if T % 2 == 0:
        dqn.update_target_net()
