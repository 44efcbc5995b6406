# https://github.com/openai/baselines/issues/708
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

pi, vf = nn.Linear(4, 2), nn.Linear(4, 1)
log_std = nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*pi.parameters(), log_std, *vf.parameters()], lr=3e-3)
before = pi.weight.detach().clone()
obs, returns = torch.randn(32, 4), torch.randn(32)
with torch.no_grad():
    old = torch.distributions.Normal(pi(obs), log_std.exp())
    actions = old.sample()
    old_log_prob = old.log_prob(actions).sum(1)
    advantages = returns - vf(obs).squeeze(1)

# %%
for epoch in range(3):
    dist = torch.distributions.Normal(pi(obs), log_std.exp())
    ratio = torch.exp(dist.log_prob(actions).sum(1) - old_log_prob)
    pg_loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    loss = pg_loss + 0.5 * F.mse_loss(vf(obs).squeeze(1), returns) - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*pi.parameters(), log_std, *vf.parameters()], 0.5)
    optimizer.step()
    print(loss.item())
