# https://github.com/lcswillems/rl-starter-files/issues/6
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ACModel(nn.Module):
    def __init__(self, obs=6, n_actions=3):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(obs, 16), nn.Tanh())
        self.actor, self.critic = nn.Linear(16, n_actions), nn.Linear(16, 1)

    def forward(self, obs):
        x = self.embed(obs)
        return Categorical(logits=self.actor(x)), self.critic(x).squeeze(1)


class A2CAlgo:
    def __init__(self, acmodel, num_procs=4, num_frames=5, discount=0.99, gae_lambda=0.95, lr=7e-4):
        self.acmodel, self.num_procs, self.num_frames_per_proc = acmodel, num_procs, num_frames
        self.discount, self.gae_lambda = discount, gae_lambda
        self.entropy_coef, self.value_loss_coef = 0.01, 0.5
        self.optimizer = torch.optim.RMSprop(acmodel.parameters(), lr, alpha=0.99, eps=1e-5)
        self.obs = torch.randn(num_procs, 6)

    def collect_experiences(self):
        obss, actions, values, rewards = [], [], [], []
        for i in range(self.num_frames_per_proc):
            with torch.no_grad():
                dist, value = self.acmodel(self.obs)
            action = dist.sample()
            obss.append(self.obs)
            actions.append(action)
            values.append(value)
            rewards.append((action == 1).float() + 0.1 * torch.randn(self.num_procs))
            self.obs = torch.randn(self.num_procs, 6)

        # Add advantage and return to experiences
        with torch.no_grad():
            _, next_value = self.acmodel(self.obs)
        advantages = [None] * self.num_frames_per_proc
        next_advantage = 0
        for i in reversed(range(self.num_frames_per_proc)):
            delta = rewards[i] + self.discount * next_value - values[i]
            advantages[i] = next_advantage = delta + self.discount * self.gae_lambda * next_advantage
            next_value = values[i]
        exps = {'obs': torch.cat(obss), 'action': torch.cat(actions), 'value': torch.cat(values), 'advantage': torch.cat(advantages)}
        exps['returnn'] = exps['value'] + exps['advantage']
        return exps

    def update_parameters(self, sb):
        dist, value = self.acmodel(sb['obs'])
        entropy = dist.entropy().mean()
        policy_loss = -(dist.log_prob(sb['action']) * sb['advantage']).mean()
        value_loss = (value - sb['returnn']).pow(2).mean()
        loss = policy_loss - self.entropy_coef * entropy + self.value_loss_coef * value_loss
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.acmodel.parameters(), 0.5)
        self.optimizer.step()
        return {'policy_loss': policy_loss.item(), 'value_loss': value_loss.item()}


# %%
algo = A2CAlgo(ACModel())
for update in range(2):
    exps = algo.collect_experiences()
    print(update, algo.update_parameters(exps))
