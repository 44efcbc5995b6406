# https://github.com/nebuly-ai/optimate/issues/247
import torch
import torch.nn as nn

torch.manual_seed(0)

# %%
actor = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 10))
actor[2].weight.data.mul_(8)  # would be the pretrained one
optimizer = torch.optim.Adam(actor.parameters(), lr=5e-3)
actor_eps_clip, beta_s = 0.2, 0.5
states = torch.randn(32, 8)
log = []

# %%
for epoch in range(10):
    with torch.no_grad():
        old_dist = torch.distributions.Categorical(logits=actor(states))
        actions = old_dist.sample()
        old_log_probs = old_dist.log_prob(actions)
    rewards = torch.randn(32)
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-5)

    dist = torch.distributions.Categorical(logits=actor(states))
    log_probs, entropies = dist.log_prob(actions), dist.entropy()
    ratios = (log_probs - old_log_probs).exp()
    surr1 = advantages * ratios
    surr2 = advantages * ratios.clamp(1 - actor_eps_clip, 1 + actor_eps_clip)
    policy_loss = -torch.min(surr1, surr2).mean()
    loss = policy_loss + beta_s * entropies.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(entropies.mean().item())
    print(epoch, loss.item(), log[-1])
