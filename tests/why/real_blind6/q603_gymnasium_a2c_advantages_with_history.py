# https://github.com/Farama-Foundation/Gymnasium/issues/1494
import torch
import torch.nn as nn

torch.manual_seed(0)


class A2C(nn.Module):
    def __init__(self, n_features, n_actions, n_envs):
        super().__init__()
        self.n_envs = n_envs
        self.critic = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, n_actions))
        self.critic_optim = torch.optim.RMSprop(self.critic.parameters(), lr=5e-3)
        self.actor_optim = torch.optim.RMSprop(self.actor.parameters(), lr=1e-3)

    def select_action(self, x):
        state_values = self.critic(x)
        action_pd = torch.distributions.Categorical(logits=self.actor(x))
        actions = action_pd.sample()
        return actions, action_pd.log_prob(actions), state_values, action_pd.entropy()

    def get_losses(self, rewards, action_log_probs, value_preds, entropy, masks, gamma, lam, ent_coef):
        T = len(rewards)
        advantages = torch.zeros(T, self.n_envs)
        # compute the advantages using GAE
        gae = 0.0
        for t in reversed(range(T - 1)):
            td_error = rewards[t] + gamma * masks[t] * value_preds[t + 1] - value_preds[t]
            gae = td_error + gamma * lam * masks[t] * gae
            advantages[t] = gae
        # calculate the loss of the minibatch for actor and critic
        critic_loss = advantages.pow(2).mean()
        actor_loss = -(advantages.detach() * action_log_probs).mean() - ent_coef * entropy.mean()
        return critic_loss, actor_loss


n_envs, n_steps_per_update = 3, 8
agent = A2C(4, 2, n_envs)

# %%
ep_value_preds = torch.zeros(n_steps_per_update, n_envs)
ep_rewards = torch.zeros(n_steps_per_update, n_envs)
ep_action_log_probs = torch.zeros(n_steps_per_update, n_envs)
masks = torch.ones(n_steps_per_update, n_envs)
entropies = []
states = torch.randn(n_envs, 4)
for step in range(n_steps_per_update):
    actions, action_log_probs, state_value_preds, entropy = agent.select_action(states)
    states = torch.randn(n_envs, 4)
    ep_value_preds[step] = torch.squeeze(state_value_preds)
    ep_rewards[step] = actions.float() + states[:, 0]
    ep_action_log_probs[step] = action_log_probs
    entropies.append(entropy)

critic_loss, actor_loss = agent.get_losses(ep_rewards, ep_action_log_probs, ep_value_preds, torch.stack(entropies), masks, 0.99, 0.95, 0.01)

# %%
agent.critic_optim.zero_grad()
critic_loss.backward()
agent.critic_optim.step()
agent.actor_optim.zero_grad()
actor_loss.backward()
agent.actor_optim.step()
print(critic_loss.item(), actor_loss.item())
