# https://github.com/KamyarGh/rl_swiss/issues/3
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)


class FlattenMlp(nn.Module):
    def __init__(self, hidden_sizes, input_size, output_size):
        super().__init__()
        sizes = [input_size] + hidden_sizes
        self.fcs = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.last_fc = nn.Linear(hidden_sizes[-1], output_size)

    def forward(self, *inputs):
        h = torch.cat(inputs, dim=1)
        for fc in self.fcs:
            h = torch.relu(fc(h))
        return self.last_fc(h)


class ReparamTanhMultivariateGaussianPolicy(FlattenMlp):
    def __init__(self, hidden_sizes, obs_dim, action_dim):
        super().__init__(hidden_sizes, obs_dim, 2 * action_dim)

    def forward(self, obs):
        mean, log_std = super().forward(obs).chunk(2, dim=1)
        log_std = torch.clamp(log_std, -20, 2)
        normal = Normal(mean, log_std.exp())
        pre_tanh = normal.rsample()
        action = torch.tanh(pre_tanh)
        log_prob = (normal.log_prob(pre_tanh) - torch.log(1 - action**2 + 1e-6)).sum(1, keepdim=True)
        return action, mean, log_std, log_prob


class SoftActorCritic:
    def __init__(self, policy, qf1, qf2, vf, reward_scale=1.0, discount=0.99, policy_lr=3e-4, qf_lr=3e-4, vf_lr=3e-4,
                 soft_target_tau=5e-3, policy_mean_reg_weight=1e-3, policy_std_reg_weight=1e-3):
        self.policy, self.qf1, self.qf2, self.vf = policy, qf1, qf2, vf
        self.target_vf = FlattenMlp([32, 32], 4, 1)
        self.target_vf.load_state_dict(vf.state_dict())
        self.reward_scale, self.discount = reward_scale, discount
        self.soft_target_tau = soft_target_tau
        self.policy_mean_reg_weight = policy_mean_reg_weight
        self.policy_std_reg_weight = policy_std_reg_weight
        self.policy_optimizer = optim.Adam(self.policy.parameters(), lr=policy_lr)
        self.qf1_optimizer = optim.Adam(self.qf1.parameters(), lr=qf_lr)
        self.qf2_optimizer = optim.Adam(self.qf2.parameters(), lr=qf_lr)
        self.vf_optimizer = optim.Adam(self.vf.parameters(), lr=vf_lr)

    def train_step(self, batch):
        rewards = self.reward_scale * batch['rewards']
        terminals = batch['terminals']
        obs, actions, next_obs = batch['observations'], batch['actions'], batch['next_observations']

        q1_pred = self.qf1(obs, actions)
        q2_pred = self.qf2(obs, actions)
        v_pred = self.vf(obs)
        new_actions, policy_mean, policy_log_std, log_pi = self.policy(obs)

        # QF loss
        target_v_values = self.target_vf(next_obs)
        q_target = rewards + (1. - terminals) * self.discount * target_v_values
        qf1_loss = 0.5 * torch.mean((q1_pred - q_target.detach())**2)
        qf2_loss = 0.5 * torch.mean((q2_pred - q_target.detach())**2)

        # VF loss
        q_new_actions = torch.min(self.qf1(obs, new_actions), self.qf2(obs, new_actions))
        v_target = q_new_actions - log_pi
        vf_loss = 0.5 * torch.mean((v_pred - v_target.detach())**2)

        # Policy loss
        policy_loss = torch.mean(log_pi - q_new_actions)
        mean_reg_loss = self.policy_mean_reg_weight * (policy_mean**2).mean()
        std_reg_loss = self.policy_std_reg_weight * (policy_log_std**2).mean()
        policy_loss = policy_loss + mean_reg_loss + std_reg_loss

        # Update networks
        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        self.vf_optimizer.zero_grad()
        vf_loss.backward()
        self.vf_optimizer.step()

        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()

        for target, source in zip(self.target_vf.parameters(), self.vf.parameters()):
            target.data.mul_(1 - self.soft_target_tau).add_(self.soft_target_tau * source.data)
        return {'QF1 Loss': qf1_loss.item(), 'VF Loss': vf_loss.item(), 'Policy Loss': policy_loss.item()}


# %%
obs_dim, action_dim = 4, 2
qf1 = FlattenMlp([32, 32], obs_dim + action_dim, 1)
qf2 = FlattenMlp([32, 32], obs_dim + action_dim, 1)
vf = FlattenMlp([32, 32], obs_dim, 1)
policy = ReparamTanhMultivariateGaussianPolicy([32, 32], obs_dim, action_dim)
trainer = SoftActorCritic(policy, qf1, qf2, vf)

# %%
for _ in range(3):
    obs = torch.randn(64, obs_dim)
    batch = dict(observations=obs, actions=torch.rand(64, action_dim) * 2 - 1, rewards=torch.randn(64, 1),
                 terminals=torch.zeros(64, 1), next_observations=obs + 0.1 * torch.randn(64, obs_dim))
    print(trainer.train_step(batch))
