# https://github.com/ikostrikov/pytorch-a2c-ppo-acktr-gail/blob/master/a2c_ppo_acktr/algo/ppo.py
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.gru = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.GRUCell(16, 16)
        self.critic_linear, self.dist = nn.Linear(16, 1), nn.Linear(16, 2)

    def _body(self, inputs, rnn_hxs, masks):
        rnn_hxs = self.gru(self.base(inputs), rnn_hxs * masks)
        return self.critic_linear(rnn_hxs), torch.distributions.Categorical(logits=self.dist(rnn_hxs)), rnn_hxs

    def act(self, inputs, rnn_hxs, masks):
        value, dist, rnn_hxs = self._body(inputs, rnn_hxs, masks)
        action = dist.sample()
        return value, action, dist.log_prob(action), rnn_hxs

    def get_value(self, inputs, rnn_hxs, masks):
        return self._body(inputs, rnn_hxs, masks)[0]

    def evaluate_actions(self, inputs, rnn_hxs, masks, action):
        value, dist, rnn_hxs = self._body(inputs, rnn_hxs, masks)
        return value, dist.log_prob(action), dist.entropy().mean(), rnn_hxs


class RolloutStorage:
    def __init__(self, num_steps, n):
        self.obs, self.rnn_hxs = torch.zeros(num_steps + 1, n, 4), torch.zeros(num_steps + 1, n, 16)
        self.rewards, self.value_preds = torch.zeros(num_steps, n, 1), torch.zeros(num_steps + 1, n, 1)
        self.returns, self.logp = torch.zeros(num_steps + 1, n, 1), torch.zeros(num_steps, n)
        self.actions, self.masks = torch.zeros(num_steps, n).long(), torch.ones(num_steps + 1, n, 1)
        self.step, self.num_steps = 0, num_steps

    def insert(self, obs, rnn_hxs, actions, logp, value_preds, rewards, masks):
        self.obs[self.step + 1].copy_(obs)
        self.rnn_hxs[self.step + 1].copy_(rnn_hxs)
        self.actions[self.step].copy_(actions)
        self.logp[self.step].copy_(logp)
        self.value_preds[self.step].copy_(value_preds)
        self.rewards[self.step].copy_(rewards)
        self.masks[self.step + 1].copy_(masks)
        self.step = (self.step + 1) % self.num_steps

    def after_update(self):
        self.obs[0].copy_(self.obs[-1])
        self.rnn_hxs[0].copy_(self.rnn_hxs[-1])
        self.masks[0].copy_(self.masks[-1])

    def compute_returns(self, next_value, gamma=0.99, gae_lambda=0.95):
        self.value_preds[-1] = next_value
        gae = 0
        for step in reversed(range(self.num_steps)):
            delta = self.rewards[step] + gamma * self.value_preds[step + 1] * self.masks[step + 1] - self.value_preds[step]
            gae = delta + gamma * gae_lambda * self.masks[step + 1] * gae
            self.returns[step] = gae + self.value_preds[step]


actor_critic, rollouts = Policy(), RolloutStorage(5, 3)
optimizer = optim.Adam(actor_critic.parameters(), lr=3e-4, eps=1e-5)
before = actor_critic.dist.weight.detach().clone()

# %%
for j in range(2):
    for step in range(5):
        with torch.no_grad():
            value, action, action_log_prob, rnn_hxs = actor_critic.act(rollouts.obs[step], rollouts.rnn_hxs[step], rollouts.masks[step])
        rollouts.insert(torch.randn(3, 4), rnn_hxs, action, action_log_prob, value, torch.randn(3, 1), torch.ones(3, 1))
    with torch.no_grad():
        next_value = actor_critic.get_value(rollouts.obs[-1], rollouts.rnn_hxs[-1], rollouts.masks[-1]).detach()
    rollouts.compute_returns(next_value)
    advantages = rollouts.returns[:-1] - rollouts.value_preds[:-1]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-5)
    for e in range(2):
        values, action_log_probs, dist_entropy, _ = actor_critic.evaluate_actions(
            rollouts.obs[:-1].view(-1, 4), rollouts.rnn_hxs[:-1].view(-1, 16), rollouts.masks[:-1].view(-1, 1), rollouts.actions.view(-1)
        )
        ratio = torch.exp(action_log_probs - rollouts.logp.view(-1))
        adv_targ, return_batch, value_preds_batch = advantages.view(-1), rollouts.returns[:-1].view(-1, 1), rollouts.value_preds[:-1].view(-1, 1)
        surr1 = ratio * adv_targ
        surr2 = torch.clamp(ratio, 1.0 - 0.2, 1.0 + 0.2) * adv_targ
        action_loss = -torch.min(surr1, surr2).mean()
        value_pred_clipped = value_preds_batch + (values - value_preds_batch).clamp(-0.2, 0.2)
        value_loss = 0.5 * torch.max((values - return_batch).pow(2), (value_pred_clipped - return_batch).pow(2)).mean()
        optimizer.zero_grad()
        (value_loss * 0.5 + action_loss - dist_entropy * 0.01).backward()
        nn.utils.clip_grad_norm_(actor_critic.parameters(), 0.5)
        optimizer.step()
        print(value_loss.item(), action_loss.item(), dist_entropy.item())
    rollouts.after_update()
