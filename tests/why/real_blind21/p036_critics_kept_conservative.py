# https://github.com/aviralkumar2907/CQL/issues/5
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)


class FlattenMlp(nn.Module):
    def __init__(self, input_size, output_size, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(input_size, hidden_size), nn.ReLU(),
                                 nn.Linear(hidden_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, output_size))

    def forward(self, *inputs):
        return self.net(torch.cat(inputs, dim=1))


class TanhGaussianPolicy(FlattenMlp):
    def __init__(self, obs_dim, action_dim):
        super().__init__(obs_dim, 2 * action_dim)

    def forward(self, obs):
        mean, log_std = super().forward(obs).chunk(2, dim=1)
        normal = Normal(mean, log_std.clamp(-20, 2).exp())
        z = normal.rsample()
        action = torch.tanh(z)
        log_prob = normal.log_prob(z) - torch.log(1 - action * action + 1e-6)
        return action, log_prob.sum(dim=1, keepdim=True)


class CQLTrainer:
    def __init__(self, policy, qf1, qf2, target_qf1, target_qf2, discount=0.99, policy_lr=1e-3, qf_lr=1e-3,
                 alpha=0.2, num_random=4, temp=1.0, min_q_weight=1.0):
        self.policy, self.qf1, self.qf2, self.target_qf1, self.target_qf2 = policy, qf1, qf2, target_qf1, target_qf2
        self.discount, self.alpha, self.num_random = discount, alpha, num_random
        self.temp, self.min_q_weight = temp, min_q_weight
        self.qf_criterion = nn.MSELoss()
        self.policy_optimizer = optim.Adam(self.policy.parameters(), lr=policy_lr)
        self.qf1_optimizer = optim.Adam(self.qf1.parameters(), lr=qf_lr)
        self.qf2_optimizer = optim.Adam(self.qf2.parameters(), lr=qf_lr)

    def _get_tensor_values(self, obs, actions, network=None):
        num_repeat = actions.shape[0] // obs.shape[0]
        obs_temp = obs.unsqueeze(1).repeat(1, num_repeat, 1).view(-1, obs.shape[1])
        return network(obs_temp, actions).view(obs.shape[0], num_repeat, 1)

    def _get_policy_actions(self, obs, num_actions, network=None):
        obs_temp = obs.unsqueeze(1).repeat(1, num_actions, 1).view(-1, obs.shape[1])
        new_obs_actions, new_obs_log_pi = network(obs_temp)
        return new_obs_actions, new_obs_log_pi.view(obs.shape[0], num_actions, 1)

    def min_q_loss(self, qf, obs, q_pred, random_actions, curr_actions, curr_log_pis):
        q_rand = self._get_tensor_values(obs, random_actions, network=qf)
        q_curr = self._get_tensor_values(obs, curr_actions, network=qf)
        random_density = np.log(0.5 ** curr_actions.shape[-1])
        cat_q = torch.cat([q_rand - random_density, q_curr - curr_log_pis.detach()], 1)
        return (torch.logsumexp(cat_q / self.temp, dim=1).mean() * self.temp - q_pred.mean()) * self.min_q_weight

    def train_from_torch(self, obs, actions, rewards, next_obs):
        # Policy Loss
        new_obs_actions, log_pi = self.policy(obs)
        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))
        policy_loss = (self.alpha * log_pi - q_new_actions).mean()

        # QF Loss
        q1_pred, q2_pred = self.qf1(obs, actions), self.qf2(obs, actions)
        new_next_actions, _ = self.policy(next_obs)
        target_q_values = torch.min(self.target_qf1(next_obs, new_next_actions),
                                    self.target_qf2(next_obs, new_next_actions))
        q_target = (rewards + self.discount * target_q_values).detach()
        qf1_loss, qf2_loss = self.qf_criterion(q1_pred, q_target), self.qf_criterion(q2_pred, q_target)

        # add CQL
        random_actions = torch.empty(obs.shape[0] * self.num_random, actions.shape[-1]).uniform_(-1, 1)
        curr_actions, curr_log_pis = self._get_policy_actions(obs, self.num_random, network=self.policy)
        qf1_loss = qf1_loss + self.min_q_loss(self.qf1, obs, q1_pred, random_actions, curr_actions, curr_log_pis)
        qf2_loss = qf2_loss + self.min_q_loss(self.qf2, obs, q2_pred, random_actions, curr_actions, curr_log_pis)

        # Update networks
        self.qf1_optimizer.zero_grad()
        qf1_loss.backward(retain_graph=True)
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward(retain_graph=True)
        self.qf2_optimizer.step()

        self.policy_optimizer.zero_grad()
        policy_loss.backward(retain_graph=False)
        self.policy_optimizer.step()
        return policy_loss.item(), qf1_loss.item()


# %%
qf1, qf2, target_qf1, target_qf2 = (FlattenMlp(3 + 1, 1) for _ in range(4))
policy = TanhGaussianPolicy(3, 1)
trainer = CQLTrainer(policy, qf1, qf2, target_qf1, target_qf2)

# %%
for step in range(3):
    obs, actions = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
    print(step, trainer.train_from_torch(obs, actions, -(obs[:, :1] - actions) ** 2, torch.randn(32, 3)))
