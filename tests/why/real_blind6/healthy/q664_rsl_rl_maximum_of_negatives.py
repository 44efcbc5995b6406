# https://github.com/leggedrobotics/rsl_rl/issues/46
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, num_obs=6, num_actions=2):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(num_obs, 32), nn.ELU(), nn.Linear(32, num_actions))
        self.critic = nn.Sequential(nn.Linear(num_obs, 32), nn.ELU(), nn.Linear(32, 1))
        self.std = nn.Parameter(torch.ones(num_actions))
        self.distribution = None

    def act(self, observations):
        mean = self.actor(observations)
        self.distribution = Normal(mean, mean * 0. + self.std)
        return self.distribution.sample()

    def get_actions_log_prob(self, actions):
        return self.distribution.log_prob(actions).sum(dim=-1)

    def evaluate(self, observations):
        return self.critic(observations)


actor_critic = ActorCritic()
optimizer = optim.Adam(actor_critic.parameters(), lr=1e-3)
clip_param, value_loss_coef, entropy_coef, max_grad_norm = 0.2, 1.0, 0.01, 1.0
before = actor_critic.actor[0].weight.detach().clone()

# %%
with torch.no_grad():
    obs_batch = torch.randn(64, 6)
    actions_batch = actor_critic.act(obs_batch)
    old_actions_log_prob_batch = actor_critic.get_actions_log_prob(actions_batch).unsqueeze(-1)
    target_values_batch = actor_critic.evaluate(obs_batch)
    returns_batch = target_values_batch + actions_batch[:, :1] + 0.1 * torch.randn(64, 1)
    advantages_batch = returns_batch - target_values_batch
    advantages_batch = (advantages_batch - advantages_batch.mean()) / (advantages_batch.std() + 1e-8)

# %%
for epoch in range(5):
    actor_critic.act(obs_batch)
    actions_log_prob_batch = actor_critic.get_actions_log_prob(actions_batch)
    value_batch = actor_critic.evaluate(obs_batch)
    entropy_batch = actor_critic.distribution.entropy().sum(dim=-1)

    # Surrogate loss
    ratio = torch.exp(actions_log_prob_batch - torch.squeeze(old_actions_log_prob_batch))
    surrogate = -torch.squeeze(advantages_batch) * ratio
    surrogate_clipped = -torch.squeeze(advantages_batch) * torch.clamp(ratio, 1.0 - clip_param, 1.0 + clip_param)
    surrogate_loss = torch.max(surrogate, surrogate_clipped).mean()

    # Value function loss
    value_clipped = target_values_batch + (value_batch - target_values_batch).clamp(-clip_param, clip_param)
    value_losses = (value_batch - returns_batch).pow(2)
    value_losses_clipped = (value_clipped - returns_batch).pow(2)
    value_loss = torch.max(value_losses, value_losses_clipped).mean()

    loss = surrogate_loss + value_loss_coef * value_loss - entropy_coef * entropy_batch.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(actor_critic.parameters(), max_grad_norm)
    optimizer.step()
    print(epoch, surrogate_loss.item(), value_loss.item())
