# https://github.com/DLR-RM/stable-baselines3/issues/1533
import torch as th
from torch import nn


class ActorCriticPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.action_net = nn.Linear(4, 3)
        self.value_net = nn.Linear(4, 1)

    def evaluate_actions(self, obs, actions):
        dist = th.distributions.Categorical(logits=self.action_net(obs))
        return self.value_net(obs).flatten(), dist.log_prob(actions), dist.entropy()


policy = ActorCriticPolicy()
optimizer = th.optim.Adam(policy.parameters(), lr=3e-4)
ent_coef, vf_coef, max_grad_norm = 0.0, 0.0, 0.5
obs, actions, advantages, returns = th.randn(16, 4), th.randint(3, (16,)), th.randn(16), 100 * th.randn(16)
old_log_prob = policy.evaluate_actions(obs, actions)[1].detach()

# %%
values, log_prob, entropy = policy.evaluate_actions(obs, actions)
ratio = th.exp(log_prob - old_log_prob)
policy_loss = -th.min(advantages * ratio, advantages * th.clamp(ratio, 0.8, 1.2)).mean()
value_loss = nn.functional.mse_loss(returns, values)
loss = policy_loss + ent_coef * -th.mean(entropy) + vf_coef * value_loss

# %%
optimizer.zero_grad()
loss.backward()
th.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
optimizer.step()
print(policy.value_net.weight.grad)
