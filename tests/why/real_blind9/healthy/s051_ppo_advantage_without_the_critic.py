# https://github.com/nikhilbarhate99/PPO-PyTorch/issues/29
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim, n_latent_var):
        super(ActorCritic, self).__init__()
        # actor
        self.action_layer = nn.Sequential(
            nn.Linear(state_dim, n_latent_var),
            nn.Tanh(),
            nn.Linear(n_latent_var, action_dim),
            nn.Softmax(dim=-1)
        )
        # critic
        self.value_layer = nn.Sequential(
            nn.Linear(state_dim, n_latent_var),
            nn.Tanh(),
            nn.Linear(n_latent_var, 1)
        )

    def evaluate(self, state, action):
        action_probs = self.action_layer(state)
        dist = Categorical(action_probs)
        action_logprobs = dist.log_prob(action)
        dist_entropy = dist.entropy()
        state_value = self.value_layer(state)
        return action_logprobs, torch.squeeze(state_value), dist_entropy


# %%
policy, policy_old = ActorCritic(4, 2, 16), ActorCritic(4, 2, 16)
policy_old.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3, betas=(0.9, 0.999))
MseLoss = nn.MSELoss()
eps_clip, K_epochs = 0.2, 4
old_states = torch.randn(40, 4)
old_actions = torch.randint(0, 2, (40,))
with torch.no_grad():
    old_logprobs = policy_old.evaluate(old_states, old_actions)[0]
rewards = torch.randn(40)

# %%
for _ in range(K_epochs):
    # Evaluating old actions and values :
    logprobs, state_values, dist_entropy = policy.evaluate(old_states, old_actions)

    # Finding the ratio (pi_theta / pi_theta__old):
    ratios = torch.exp(logprobs - old_logprobs.detach())

    # Finding Surrogate Loss:
    advantages = rewards - state_values.detach()
    surr1 = ratios * advantages
    surr2 = torch.clamp(ratios, 1-eps_clip, 1+eps_clip) * advantages
    loss = -torch.min(surr1, surr2) + 0.5*MseLoss(state_values, rewards) - 0.01*dist_entropy

    # take gradient step
    optimizer.zero_grad()
    loss.mean().backward()
    optimizer.step()

# Copy new weights into old policy:
policy_old.load_state_dict(policy.state_dict())
