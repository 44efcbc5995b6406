# https://github.com/pranz24/pytorch-soft-actor-critic/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 4))
critic = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
policy_optim = torch.optim.Adam(policy.parameters(), lr=1e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)
before = policy[2].weight.detach().clone()

# %%
for step in range(3):
    state = torch.randn(16, 4)
    qf_loss = F.mse_loss(critic(torch.cat([state, torch.randn(16, 2)], 1)), torch.randn(16, 1))
    critic_optim.zero_grad()
    qf_loss.backward()
    critic_optim.step()
    mean, log_std = policy(state).chunk(2, dim=1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-20, 2).exp())
    x_t = normal.rsample()
    action = torch.tanh(x_t)
    log_pi = (normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
    policy_loss = (0.2 * log_pi - critic(torch.cat([state, action], 1))).mean()
    policy_optim.zero_grad()
    policy_loss.backward()
    policy_optim.step()
    print(qf_loss.item(), policy_loss.item())
