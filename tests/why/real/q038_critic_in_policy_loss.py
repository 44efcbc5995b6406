# https://github.com/astariul/encode-attend-navigate-pytorch/pull/3
import torch
import torch.nn as nn
import torch.nn.functional as F

actor, critic = nn.Linear(6, 4), nn.Linear(6, 1)
act_optim = torch.optim.Adam(actor.parameters(), lr=1e-3)
cri_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)
inputs, reward = torch.randn(8, 6), torch.rand(8)

# %%
dist = torch.distributions.Categorical(logits=actor(inputs))
tour = dist.sample()
logprobs = dist.log_prob(tour)
critic_value = critic(inputs).squeeze(-1)

advantage = reward - critic_value
loss_actor = torch.mean(advantage * logprobs)
loss_critic = F.mse_loss(reward, critic_value)

# %%
act_optim.zero_grad()
cri_optim.zero_grad()
loss_actor.backward()
act_optim.step()
print(critic.weight.grad)
