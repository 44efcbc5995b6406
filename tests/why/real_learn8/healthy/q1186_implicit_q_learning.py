# https://github.com/gwthomas/IQL-PyTorch/blob/main/src/iql.py
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(0)
EXP_ADV_MAX = 100.0


def mlp(*dims):
    return nn.Sequential(*(m for i in range(len(dims) - 1) for m in (nn.Linear(dims[i], dims[i + 1]), nn.ReLU())))[:-1]


def asymmetric_l2_loss(u, tau):
    return torch.mean(torch.abs(tau - (u < 0).float()) * u**2)


class TwinQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(5, 16, 1), mlp(5, 16, 1)

    def both(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.q1(sa).squeeze(-1), self.q2(sa).squeeze(-1)

    def forward(self, state, action):
        return torch.min(*self.both(state, action))


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(4, 16, 1)
        self.log_std = nn.Parameter(torch.zeros(1, dtype=torch.float32))

    def forward(self, obs):
        std = torch.exp(self.log_std.clamp(-5.0, 2.0))
        return torch.distributions.MultivariateNormal(self.net(obs), scale_tril=torch.diag(std))


class ImplicitQLearning(nn.Module):
    def __init__(self, qf, vf, policy, tau=0.7, beta=3.0, discount=0.99, alpha=0.005):
        super().__init__()
        self.qf, self.vf, self.policy = qf, vf, policy
        self.q_target = copy.deepcopy(qf).requires_grad_(False)
        self.v_optimizer = torch.optim.Adam(self.vf.parameters(), lr=1e-3)
        self.q_optimizer = torch.optim.Adam(self.qf.parameters(), lr=1e-3)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.policy_lr_schedule = CosineAnnealingLR(self.policy_optimizer, 10)
        self.tau, self.beta, self.discount, self.alpha = tau, beta, discount, alpha

    def update(self, observations, actions, next_observations, rewards, terminals):
        with torch.no_grad():
            target_q = self.q_target(observations, actions)
            next_v = self.vf(next_observations).squeeze(-1)
        v = self.vf(observations).squeeze(-1)
        adv = target_q - v
        v_loss = asymmetric_l2_loss(adv, self.tau)
        self.v_optimizer.zero_grad(set_to_none=True)
        v_loss.backward()
        self.v_optimizer.step()
        targets = rewards + (1.0 - terminals.float()) * self.discount * next_v.detach()
        qs = self.qf.both(observations, actions)
        q_loss = sum(F.mse_loss(q, targets) for q in qs) / len(qs)
        self.q_optimizer.zero_grad(set_to_none=True)
        q_loss.backward()
        self.q_optimizer.step()
        for target_param, source_param in zip(self.q_target.parameters(), self.qf.parameters()):
            target_param.data.mul_(1.0 - self.alpha).add_(source_param.data, alpha=self.alpha)
        exp_adv = torch.exp(self.beta * adv.detach()).clamp(max=EXP_ADV_MAX)
        bc_losses = -self.policy(observations).log_prob(actions)
        policy_loss = torch.mean(exp_adv * bc_losses)
        self.policy_optimizer.zero_grad(set_to_none=True)
        policy_loss.backward()
        self.policy_optimizer.step()
        self.policy_lr_schedule.step()


iql = ImplicitQLearning(TwinQ(), mlp(4, 16, 1), GaussianPolicy())
before = iql.policy.net[0].weight.detach().clone()

# %%
for step in range(3):
    iql.update(torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 4), torch.randn(8), torch.zeros(8))
    with torch.no_grad():
        print(step, iql.policy(torch.randn(1, 4)).mean.item())
