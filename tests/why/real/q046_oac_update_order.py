# https://github.com/microsoft/oac-explore/issues/27
import torch
import torch.nn as nn

qf1, qf2, policy = nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(4, 2)
qf1_optimizer = torch.optim.Adam(qf1.parameters(), lr=1e-3)
qf2_optimizer = torch.optim.Adam(qf2.parameters(), lr=1e-3)
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
qf_criterion = nn.MSELoss()
obs, actions, q_target, alpha = torch.randn(8, 4), torch.randn(8, 2), torch.randn(8, 1), 0.2

# %%
new_obs_actions = torch.tanh(policy(obs))
log_pi = -new_obs_actions.pow(2).sum(1, keepdim=True)
q_new_actions = torch.min(
    qf1(torch.cat([obs, new_obs_actions], 1)),
    qf2(torch.cat([obs, new_obs_actions], 1)),
)
policy_loss = (alpha * log_pi - q_new_actions).mean()
qf1_loss = qf_criterion(qf1(torch.cat([obs, actions], 1)), q_target)
qf2_loss = qf_criterion(qf2(torch.cat([obs, actions], 1)), q_target)

# %%
"""
Update networks
"""
qf1_optimizer.zero_grad()
qf1_loss.backward()
qf1_optimizer.step()

qf2_optimizer.zero_grad()
qf2_loss.backward()
qf2_optimizer.step()

policy_optimizer.zero_grad()
policy_loss.backward()
policy_optimizer.step()
