# https://github.com/pytorch/rl/issues/1187
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, act_dim), nn.Tanh())

    def forward(self, obs):
        return self.net(obs)


class QValue(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim + act_dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, obs, action):
        return self.net(torch.cat([obs, action], -1)).squeeze(-1)


class TD3Loss(nn.Module):
    def __init__(self, actor_network, qvalue_network, gamma=0.99, policy_noise=0.2, noise_clip=0.5):
        super().__init__()
        self.actor_network, self.qvalue_network = actor_network, qvalue_network
        self.target_actor, self.target_qvalue = copy.deepcopy(actor_network), copy.deepcopy(qvalue_network)
        self.gamma, self.policy_noise, self.noise_clip = gamma, policy_noise, noise_clip

    def forward(self, td):
        obs, next_obs, action = td["observation"], td["next_observation"], td["action"]
        with torch.no_grad():
            noise = (torch.randn_like(action) * self.policy_noise).clamp(-self.noise_clip, self.noise_clip)
            next_action = (self.target_actor(next_obs) + noise).clamp(-1, 1)
            target = td["reward"] + self.gamma * (1 - td["done"]) * self.target_qvalue(next_obs, next_action)

        # one call of the network for both
        actions = torch.cat([self.actor_network(obs), action])
        state_action_value = self.qvalue_network(torch.cat([obs, obs]), actions)
        state_action_value_actor, state_action_value = state_action_value.chunk(2)

        loss_actor = -state_action_value_actor.mean()
        loss_qval = F.smooth_l1_loss(state_action_value, target)
        return {"loss_actor": loss_actor, "loss_qvalue": loss_qval}


# %%
actor, qvalue = Actor(), QValue()
loss_module = TD3Loss(actor, qvalue)
optimizer_actor = torch.optim.Adam(actor.parameters(), lr=1e-4)
optimizer_qvalue = torch.optim.Adam(qvalue.parameters(), lr=1e-3)
sample = {"observation": torch.randn(32, 4), "next_observation": torch.randn(32, 4),
          "action": torch.rand(32, 2) * 2 - 1, "reward": torch.randn(32), "done": torch.zeros(32)}

# %%
loss = loss_module(sample)

optimizer_actor.zero_grad()
loss["loss_actor"].backward()
optimizer_actor.step()

optimizer_qvalue.zero_grad()
loss["loss_qvalue"].backward()
optimizer_qvalue.step()
print({k: v.item() for k, v in loss.items()})
