# https://github.com/DLR-RM/stable-baselines3/issues/1943
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ActorCriticPolicy(nn.Module):
    def __init__(self, obs_dim=6, n_actions=3):
        super().__init__()
        self.policy_net = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.value_net = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.action_net = nn.Linear(32, n_actions)
        self.value_head = nn.Linear(32, 1)

    def forward(self, obs):
        dist = torch.distributions.Categorical(logits=self.action_net(self.policy_net(obs)))
        actions = dist.sample()
        return actions, self.value_head(self.value_net(obs)).flatten(), dist.log_prob(actions)

    def evaluate_actions(self, obs, actions):
        dist = torch.distributions.Categorical(logits=self.action_net(self.policy_net(obs)))
        return self.value_head(self.value_net(obs)).flatten(), dist.log_prob(actions), dist.entropy()


def play(obs, actions):
    return (actions == obs[:, :3].argmax(1)).float()


# %%
n_steps, batch_size, n_epochs, clip_range, ent_coef, vf_coef, max_grad_norm = 128, 32, 4, 0.2, 0.0, 0.5, 0.5
policy = ActorCriticPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3, eps=1e-5)

# %%
mean_rewards, pg_losses = [], []
for rollout in range(12):
    with torch.no_grad():
        obs = torch.randn(n_steps, 6)
        actions, old_values, old_log_prob = policy(obs)
    rewards = play(obs, actions)
    returns, all_advantages = rewards, rewards - old_values
    mean_rewards.append(rewards.mean().item())

    for epoch in range(n_epochs):
        for index in torch.randperm(n_steps).split(batch_size):
            values, log_prob, entropy = policy.evaluate_actions(obs[index], actions[index])
            advantages = all_advantages[index]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

            ratio = torch.exp(log_prob - old_log_prob[index])
            policy_loss_1 = advantages * ratio
            policy_loss_2 = advantages * torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
            policy_loss = -torch.min(policy_loss_1, policy_loss_2).mean()
            value_loss = F.mse_loss(returns[index], values)
            entropy_loss = -torch.mean(entropy)
            loss = policy_loss + ent_coef * entropy_loss + vf_coef * value_loss

            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
            optimizer.step()
            pg_losses.append(policy_loss.item())
print(mean_rewards, sum(pg_losses) / len(pg_losses))
