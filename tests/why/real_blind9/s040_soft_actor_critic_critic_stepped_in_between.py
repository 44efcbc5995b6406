# https://github.com/toshikwa/soft-actor-critic.pytorch/issues/1
import torch
import torch.nn as nn
from torch.distributions import Normal
from torch.optim import Adam

torch.manual_seed(0)


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


class TwinnedQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.Q1, self.Q2 = mlp(6, 1), mlp(6, 1)

    def forward(self, states, actions):
        x = torch.cat([states, actions], dim=1)
        return self.Q1(x), self.Q2(x)


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = mlp(4, 4)

    def sample(self, states):
        mean, log_std = self.policy(states).chunk(2, dim=1)
        normals = Normal(mean, log_std.clamp(-20, 2).exp())
        xs = normals.rsample()
        actions = torch.tanh(xs)
        log_probs = normals.log_prob(xs) - torch.log(1 - actions.pow(2) + 1e-6)
        return actions, -log_probs.sum(dim=1, keepdim=True)


def update_params(optim, loss):
    optim.zero_grad()
    loss.backward()
    optim.step()


class SacAgent:
    def __init__(self):
        self.policy = GaussianPolicy()
        self.critic, self.critic_target = TwinnedQNetwork(), TwinnedQNetwork()
        self.policy_optim = Adam(self.policy.parameters(), lr=0.0003)
        self.q1_optim = Adam(self.critic.Q1.parameters(), lr=0.0003)
        self.q2_optim = Adam(self.critic.Q2.parameters(), lr=0.0003)
        self.alpha, self.gamma = 0.2, 0.99

    def learn(self, batch):
        q1_loss, q2_loss = self.calc_critic_loss(batch)
        policy_loss, entropies = self.calc_policy_loss(batch)

        update_params(self.q1_optim, q1_loss)
        update_params(self.q2_optim, q2_loss)
        update_params(self.policy_optim, policy_loss)

    def calc_critic_loss(self, batch):
        states, actions, rewards, next_states, dones = batch
        curr_q1, curr_q2 = self.critic(states, actions)
        with torch.no_grad():
            next_actions, next_entropies = self.policy.sample(next_states)
            next_q = torch.min(*self.critic_target(next_states, next_actions)) + self.alpha * next_entropies
            target_q = rewards + (1.0 - dones) * self.gamma * next_q
        return torch.mean((curr_q1 - target_q).pow(2)), torch.mean((curr_q2 - target_q).pow(2))

    def calc_policy_loss(self, batch):
        states = batch[0]
        sampled_action, entropy = self.policy.sample(states)
        q1, q2 = self.critic(states, sampled_action)
        q = torch.min(q1, q2)
        return torch.mean(- q - self.alpha * entropy), entropy


# %%
agent = SacAgent()
for _ in range(3):
    batch = (torch.randn(16, 4), torch.rand(16, 2) * 2 - 1, torch.randn(16, 1), torch.randn(16, 4), torch.zeros(16, 1))
    agent.learn(batch)
