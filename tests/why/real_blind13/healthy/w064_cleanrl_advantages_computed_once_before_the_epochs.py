# https://github.com/vwxyzjn/cleanrl/issues/24
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
num_envs, num_steps, length = 8, 32, 6


class Corridor:
    """walk to the right end, where the reward is; the left end has none"""
    def reset(self):
        self.pos = torch.randint(1, length - 1, (num_envs,))
        return self.obs()

    def obs(self):
        return nn.functional.one_hot(self.pos, length).float()

    def step(self, action):
        self.pos = (self.pos + 2 * action - 1).clamp(0, length - 1)
        done = (self.pos == 0) | (self.pos == length - 1)
        reward = (self.pos == length - 1).float() - 0.01
        self.pos = torch.where(done, torch.randint(1, length - 1, (num_envs,)), self.pos)
        return self.obs(), reward, done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(length, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(length, 32), nn.Tanh(), nn.Linear(32, 2))

    def get_value(self, x):
        return self.critic(x).flatten()

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.get_value(x)


# %%
gamma, gae_lambda, clip_coef = 0.97, 0.95, 0.2
envs, agent = Corridor(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
next_obs, next_done = envs.reset(), torch.zeros(num_envs)
returns_of_updates = []
num_updates = 15

# %%
for update in range(1, num_updates + 1):
    optimizer.param_groups[0]["lr"] = 3e-3 * (1 - (update - 1) / num_updates)
    obs, actions, logprobs, rewards, dones, values = [], [], [], [], [], []
    for step in range(num_steps):
        obs.append(next_obs)
        dones.append(next_done)
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
        actions.append(action), logprobs.append(logprob), values.append(value)
        next_obs, reward, next_done = envs.step(action)
        rewards.append(reward)
    # the advantages of the whole rollout, once
    with torch.no_grad():
        next_value, lastgaelam, advantages = agent.get_value(next_obs), 0, [None] * num_steps
        for t in reversed(range(num_steps)):
            nonterminal = 1 - (next_done if t == num_steps - 1 else dones[t + 1])
            following = next_value if t == num_steps - 1 else values[t + 1]
            delta = rewards[t] + gamma * following * nonterminal - values[t]
            lastgaelam = delta + gamma * gae_lambda * nonterminal * lastgaelam
            advantages[t] = lastgaelam
    b_obs, b_actions, b_logprobs, b_advantages, b_values = (torch.cat(x) for x in (obs, actions, logprobs, advantages, values))
    b_returns = b_advantages + b_values
    for epoch in range(4):
        for mb in torch.randperm(num_envs * num_steps).split(64):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            ratio = (newlogprob - b_logprobs[mb]).exp()
            mb_advantages = (b_advantages[mb] - b_advantages[mb].mean()) / (b_advantages[mb].std() + 1e-8)
            pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * ratio.clamp(1 - clip_coef, 1 + clip_coef)).mean()
            v_clipped = b_values[mb] + (newvalue - b_values[mb]).clamp(-clip_coef, clip_coef)
            v_loss = 0.5 * torch.max((newvalue - b_returns[mb]) ** 2, (v_clipped - b_returns[mb]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    returns_of_updates.append(torch.cat(rewards).mean().item())
print(returns_of_updates[0], returns_of_updates[-1])
assert returns_of_updates[-1] > returns_of_updates[0] + 0.1
assert not b_advantages.requires_grad and all(p.grad is not None for p in agent.parameters())
