# https://github.com/clvrai/spirl/issues/15
import copy
from types import SimpleNamespace as AttrDict

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, input_dim, action_dim, nz_mid=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(input_dim, nz_mid), nn.LeakyReLU(0.2), nn.Linear(nz_mid, 2 * action_dim))

    def forward(self, obs):
        mu, log_sigma = torch.chunk(self.net(obs), 2, dim=1)
        dist = Independent(Normal(mu, log_sigma.clamp(-5, 2).exp()), 1)
        action = dist.rsample()
        return AttrDict(dist=dist, action=action, log_prob=dist.log_prob(action))


class MLPCritic(nn.Module):
    def __init__(self, input_dim, action_dim, nz_mid=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(input_dim + action_dim, nz_mid), nn.LeakyReLU(0.2))
        self.head = nn.Linear(nz_mid, 1)

    def forward(self, obs, actions):
        return AttrDict(q=self.head(self.body(torch.cat([obs, actions], dim=1))).squeeze(1))


class SACAgent(nn.Module):
    def __init__(self, input_dim, action_dim, lr=3e-4, discount_factor=0.99):
        super().__init__()
        self.discount_factor = discount_factor
        self.target_entropy = -float(action_dim)
        self.policy = Policy(input_dim, action_dim)
        self.critics = nn.ModuleList(MLPCritic(input_dim, action_dim) for _ in range(2))
        self.critic_targets = copy.deepcopy(self.critics)
        self._log_alpha = nn.Parameter(torch.zeros(()))

        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.critic_opts = [torch.optim.Adam(critic.parameters(), lr=lr) for critic in self.critics]
        self.alpha_opt = torch.optim.Adam([self._log_alpha], lr=lr)

    @property
    def alpha(self):
        return self._log_alpha.exp()

    def _perform_update(self, loss, opt):
        opt.zero_grad()
        loss.backward()
        opt.step()

    def _min_q(self, critics, obs, actions):
        first, second = (critic(obs, actions).q for critic in critics)
        return torch.min(first, second)

    def _compute_policy_loss(self, batch, policy_output):
        q_est = self._min_q(self.critics, batch.observation, policy_output.action)
        return (self.alpha.detach() * policy_output.log_prob - q_est).mean()

    @torch.no_grad()
    def _compute_q_target(self, batch):
        policy_output = self.policy(batch.observation_next)
        q_next = self._min_q(self.critic_targets, batch.observation_next, policy_output.action)
        value_next = q_next - self.alpha * policy_output.log_prob
        return batch.reward + self.discount_factor * (1 - batch.done) * value_next

    @torch.no_grad()
    def _soft_update_target_networks(self, tau=5e-3):
        for target, source in zip(self.critic_targets.parameters(), self.critics.parameters()):
            target.lerp_(source, tau)

    def update(self, batch):
        policy_output = self.policy(batch.observation)

        alpha_loss = -(self.alpha * (policy_output.log_prob + self.target_entropy).detach()).mean()
        self._perform_update(alpha_loss, self.alpha_opt)

        policy_loss = self._compute_policy_loss(batch, policy_output)
        q_target = self._compute_q_target(batch)
        critic_losses = [0.5 * (critic(batch.observation, batch.action).q - q_target).pow(2).mean()
                         for critic in self.critics]

        for critic_loss, critic_opt in zip(critic_losses, self.critic_opts):
            self._perform_update(critic_loss, critic_opt)
        self._soft_update_target_networks()

        self._perform_update(policy_loss, self.policy_opt)
        return dict(policy_loss=policy_loss.item(), alpha_loss=alpha_loss.item(), critic_loss=critic_losses[0].item())


# %%
agent = SACAgent(input_dim=12, action_dim=10)
experience = AttrDict(
    observation=torch.randn(256, 12), observation_next=torch.randn(256, 12),
    action=torch.randn(256, 10), reward=torch.randn(256), done=torch.zeros(256),
)
info = agent.update(experience)
print(info)
