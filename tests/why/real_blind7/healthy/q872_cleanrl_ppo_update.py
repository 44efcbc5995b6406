# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/ppo.py
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.manual_seed(1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


agent = Agent()
optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
clip_coef, ent_coef, vf_coef, max_grad_norm = 0.2, 0.01, 0.5, 0.5
before = agent.actor[0].weight.detach().clone()

# %%
obs, rewards = torch.randn(32, 4), torch.rand(32)
with torch.no_grad():
    actions, logprobs, _, values = agent.get_action_and_value(obs)
    values = values.flatten()
    advantages = rewards + 0.99 * values.roll(-1) - values
    returns = advantages + values

# %%
for epoch in range(2):
    for mb_inds in torch.randperm(32).view(2, 16):
        _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs[mb_inds], actions.long()[mb_inds])
        logratio = newlogprob - logprobs[mb_inds]
        ratio = logratio.exp()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
        mb_advantages = advantages[mb_inds]
        mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
        pg_loss = torch.max(-mb_advantages * ratio, -mb_advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
        v_loss = 0.5 * ((newvalue.view(-1) - returns[mb_inds]) ** 2).mean()
        loss = pg_loss - ent_coef * entropy.mean() + v_loss * vf_coef
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), max_grad_norm)
        optimizer.step()
    print(epoch, loss.item(), approx_kl.item())
