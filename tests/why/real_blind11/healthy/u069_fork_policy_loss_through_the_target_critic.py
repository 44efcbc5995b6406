# https://github.com/honghaow/FORK/issues/1
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super(Critic, self).__init__()
        self.l1 = nn.Linear(state_dim + action_dim, 32)
        self.l2 = nn.Linear(32, 1)

    def forward(self, state, action):
        return self.l2(F.relu(self.l1(torch.cat([state, action], 1))))


class TD3_FORK:
    def __init__(self, state_dim=4, action_dim=2, tau=0.005, discount=0.99):
        self.actor = nn.Sequential(nn.Linear(state_dim, 32), nn.ReLU(), nn.Linear(32, action_dim), nn.Tanh())
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic = Critic(state_dim, action_dim)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.tau, self.discount = tau, discount

    def train(self, state, action, next_state, reward, not_done):
        with torch.no_grad():
            next_action = self.actor_target(next_state)
            target_Q = reward + not_done * self.discount * self.critic_target(next_state, next_action)
        critic_loss = F.mse_loss(self.critic(state, action), target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        # Compute actor loss with the target critic
        actor_loss = -self.critic_target(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        target_before = self.critic_target.l1.weight.detach().clone()
        self.actor_optimizer.step()
        assert torch.equal(target_before, self.critic_target.l1.weight)

        for net, target in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
            for param, target_param in zip(net.parameters(), target.parameters()):
                target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)
        return critic_loss.item(), actor_loss.item()


# %%
agent = TD3_FORK()
state, next_state = torch.randn(64, 4), torch.randn(64, 4)
action, reward, not_done = torch.rand(64, 2) * 2 - 1, torch.randn(64, 1), torch.ones(64, 1)
actor_before = agent.actor[0].weight.detach().clone()
history = [agent.train(state, action, next_state, reward, not_done) for _ in range(30)]
print(history[0], history[-1])
assert history[-1][0] < history[0][0] and not torch.equal(actor_before, agent.actor[0].weight)
