# https://github.com/toshikwa/gail-airl-ppo.pytorch/issues/13
import math

import torch
from torch import nn
from torch.optim import Adam

torch.manual_seed(0)


def build_mlp(input_dim, output_dim, hidden_units=[64, 64], hidden_activation=nn.Tanh()):
    layers = []
    units = input_dim
    for next_units in hidden_units:
        layers.append(nn.Linear(units, next_units))
        layers.append(hidden_activation)
        units = next_units
    layers.append(nn.Linear(units, output_dim))
    return nn.Sequential(*layers)


def calculate_log_pi(log_stds, noises, actions):
    gaussian_log_probs = (-0.5 * noises.pow(2) - log_stds).sum(
        dim=-1, keepdim=True) - 0.5 * math.log(2 * math.pi) * log_stds.size(-1)
    return gaussian_log_probs - torch.log(1 - actions.pow(2) + 1e-6).sum(dim=-1, keepdim=True)


def reparameterize(means, log_stds):
    noises = torch.randn_like(means)
    us = means + noises * log_stds.exp()
    actions = torch.tanh(us)
    return actions, calculate_log_pi(log_stds, noises, actions)


class StateDependentPolicy(nn.Module):

    def __init__(self, state_shape, action_shape, hidden_units=(256, 256), hidden_activation=nn.ReLU(inplace=True)):
        super().__init__()
        self.net = build_mlp(
            input_dim=state_shape[0],
            output_dim=2 * action_shape[0],
            hidden_units=hidden_units,
            hidden_activation=hidden_activation
        )

    def forward(self, states):
        return torch.tanh(self.net(states).chunk(2, dim=-1)[0])

    def sample(self, states):
        means, log_stds = self.net(states).chunk(2, dim=-1)
        return reparameterize(means, log_stds.clamp_(-20, 2))


class TwinnedStateActionFunction(nn.Module):

    def __init__(self, state_shape, action_shape, hidden_units=(256, 256), hidden_activation=nn.ReLU(inplace=True)):
        super().__init__()
        self.net1 = build_mlp(state_shape[0] + action_shape[0], 1, hidden_units, hidden_activation)
        self.net2 = build_mlp(state_shape[0] + action_shape[0], 1, hidden_units, hidden_activation)

    def forward(self, states, actions):
        xs = torch.cat([states, actions], dim=-1)
        return self.net1(xs), self.net2(xs)


class SAC:
    def __init__(self, state_shape, action_shape, gamma=0.99, lr=3e-4, tau=5e-3):
        self.actor = StateDependentPolicy(state_shape, action_shape, hidden_units=(32, 32))
        self.critic = TwinnedStateActionFunction(state_shape, action_shape, hidden_units=(32, 32))
        self.critic_target = TwinnedStateActionFunction(state_shape, action_shape, hidden_units=(32, 32)).eval()
        self.critic_target.load_state_dict(self.critic.state_dict())
        for param in self.critic_target.parameters():
            param.requires_grad = False
        self.alpha, self.gamma, self.tau = 1.0, gamma, tau
        self.optim_actor = Adam(self.actor.parameters(), lr=lr)
        self.optim_critic = Adam(self.critic.parameters(), lr=lr)

    def update_critic(self, states, actions, rewards, dones, next_states):
        curr_qs1, curr_qs2 = self.critic(states, actions)
        with torch.no_grad():
            next_actions, log_pis = self.actor.sample(next_states)
            next_qs1, next_qs2 = self.critic_target(next_states, next_actions)
            next_qs = torch.min(next_qs1, next_qs2) - self.alpha * log_pis
        target_qs = rewards + (1.0 - dones) * self.gamma * next_qs
        loss_critic1 = (curr_qs1 - target_qs).pow_(2).mean()
        loss_critic2 = (curr_qs2 - target_qs).pow_(2).mean()
        self.optim_critic.zero_grad()
        (loss_critic1 + loss_critic2).backward(retain_graph=False)
        self.optim_critic.step()

    def update_actor(self, states):
        actions, log_pis = self.actor.sample(states)
        qs1, qs2 = self.critic(states, actions)
        loss_actor = self.alpha * log_pis.mean() - torch.min(qs1, qs2).mean()
        self.optim_actor.zero_grad()
        loss_actor.backward(retain_graph=False)
        self.optim_actor.step()
        return loss_actor.item()


# %%
algo = SAC(state_shape=(5,), action_shape=(2,))
states, next_states = torch.randn(64, 5), torch.randn(64, 5)
actions, rewards, dones = torch.rand(64, 2) * 2 - 1, torch.randn(64, 1), torch.zeros(64, 1)

# %%
for step in range(5):
    algo.update_critic(states, actions, rewards, dones, next_states)
    print(step, algo.update_actor(states))
