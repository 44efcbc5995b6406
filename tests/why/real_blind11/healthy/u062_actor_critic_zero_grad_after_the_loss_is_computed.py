# https://github.com/vy007vikas/PyTorch-ActorCriticRL/issues/7
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
GAMMA, TAU = 0.99, 0.001


class Critic(nn.Module):
    def __init__(self, state_dim=3, action_dim=1):
        super().__init__()
        self.fc1 = nn.Linear(state_dim + action_dim, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, state, action):
        return self.fc2(F.relu(self.fc1(torch.cat((state, action), dim=1))))


class Trainer:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.critic = Critic()
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), 0.001)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), 0.001)

    def optimize(self, s1, a1, r1, s2):
        # ---------------------- optimize critic ----------------------
        a2 = self.target_actor(s2).detach()
        next_val = torch.squeeze(self.target_critic(s2, a2).detach())
        y_expected = r1 + GAMMA * next_val
        y_predicted = torch.squeeze(self.critic(s1, a1))
        loss_critic = F.smooth_l1_loss(y_predicted, y_expected)
        self.critic_optimizer.zero_grad()
        loss_critic.backward()
        self.critic_optimizer.step()
        # ---------------------- optimize actor ----------------------
        pred_a1 = self.actor(s1)
        loss_actor = -1 * torch.sum(self.critic(s1, pred_a1))
        self.actor_optimizer.zero_grad()
        loss_actor.backward()
        self.actor_optimizer.step()
        for target, net in ((self.target_actor, self.actor), (self.target_critic, self.critic)):
            for target_param, param in zip(target.parameters(), net.parameters()):
                target_param.data.copy_(target_param.data * (1.0 - TAU) + param.data * TAU)
        return loss_critic.item(), loss_actor.item()


# %%
trainer = Trainer()
s1, s2, a1, r1 = torch.randn(64, 3), torch.randn(64, 3), torch.rand(64, 1) * 2 - 1, torch.randn(64)
history = [trainer.optimize(s1, a1, r1, s2) for _ in range(100)]
loss_critic, loss_actor = history[-1]
print(history[0], history[-1])
assert loss_critic < history[0][0]
