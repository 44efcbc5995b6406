# https://github.com/kakaoenterprise/JORLDY/issues/120
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DDPG:
    def __init__(self, state_size=4, action_size=2, tau=0.05, gamma=0.99):
        self.actor = nn.Sequential(nn.Linear(state_size, 32), nn.ReLU(), nn.Linear(32, action_size), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(state_size + action_size, 32), nn.ReLU(), nn.Linear(32, 1))
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=5e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.tau, self.gamma = tau, gamma

    def learn(self, state, action, reward, next_state, done):
        # Critic Update
        with torch.no_grad():
            next_actions = self.target_actor(next_state)
            next_q = self.target_critic(torch.cat([next_state, next_actions], 1))
            target_q = reward + (1 - done) * self.gamma * next_q
        q = self.critic(torch.cat([state, action], 1))
        critic_loss = F.mse_loss(target_q, q)
        self.critic_optimizer.zero_grad(set_to_none=True)
        critic_loss.backward()
        self.critic_optimizer.step()

        # Actor Update
        actor_loss = -self.critic(torch.cat([state, self.actor(state)], 1)).mean()
        self.actor_optimizer.zero_grad(set_to_none=True)
        actor_loss.backward()
        self.actor_optimizer.step()
        return {"critic_loss": critic_loss.item(), "actor_loss": actor_loss.item()}

    def update_target_soft(self):
        for t_p, p in zip(self.target_critic.parameters(), self.critic.parameters()):
            t_p.data.copy_(self.tau * p.data + (1 - self.tau) * t_p.data)

    def process(self, transitions):
        result = self.learn(*transitions)
        self.update_target_soft()
        return result


# %%
agent = DDPG()
target_before = [p.detach().clone() for p in agent.target_actor.parameters()]
for step in range(4):
    s, a, r, s2 = torch.randn(16, 4), torch.rand(16, 2) * 2 - 1, torch.randn(16, 1), torch.randn(16, 4)
    done = (torch.rand(16, 1) < 0.1).float()
    print(step, agent.process((s, a, r, s2, done)))
