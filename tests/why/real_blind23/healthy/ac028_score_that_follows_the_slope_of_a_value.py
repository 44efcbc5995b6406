# https://github.com/escontra/score_matching_rl/issues/1
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def mlp(inp, out, hidden=64):
    return nn.Sequential(nn.Linear(inp, hidden), nn.Mish(), nn.Linear(hidden, hidden), nn.Mish(), nn.Linear(hidden, out))


class QSMLearner:
    def __init__(self, T=5, M_q=4.0, tau=0.05, discount=0.8):
        self.T, self.M_q, self.tau, self.discount = T, M_q, tau, discount
        self.score_model = mlp(2 + 2 + 1, 2)
        self.critic_1, self.critic_2 = mlp(4, 1), mlp(4, 1)
        self.target_critic_1, self.target_critic_2 = copy.deepcopy(self.critic_1), copy.deepcopy(self.critic_2)
        self.target_score_model = copy.deepcopy(self.score_model)
        betas = torch.linspace(0.05, 0.5, T)
        self.betas, self.alphas, self.alpha_hats = betas, 1 - betas, torch.cumprod(1 - betas, 0)
        self.actor_opt = torch.optim.Adam(self.score_model.parameters(), lr=2e-3)
        self.critic_opt = torch.optim.Adam([*self.critic_1.parameters(), *self.critic_2.parameters()], lr=2e-3)

    @torch.no_grad()
    def sample_actions(self, obs, model):
        a = torch.randn_like(obs)
        for t in reversed(range(self.T)):
            time = torch.full((len(obs), 1), t / self.T)
            eps = model(torch.cat([obs, a, time], 1))
            a = (a - self.betas[t] / (1 - self.alpha_hats[t]).sqrt() * eps) / self.alphas[t].sqrt()
            if t > 0:
                a = a + 0.3 * self.betas[t].sqrt() * torch.randn_like(a)
            a = a.clamp(-1, 1)
        return a

    def update_critic(self, obs, act, rew, next_obs):
        with torch.no_grad():
            next_act = self.sample_actions(next_obs, self.target_score_model)
            x = torch.cat([next_obs, next_act], 1)
            target_q = rew + self.discount * torch.min(self.target_critic_1(x), self.target_critic_2(x))
        x = torch.cat([obs, act], 1)
        critic_loss = F.mse_loss(self.critic_1(x), target_q) + F.mse_loss(self.critic_2(x), target_q)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        for net, target in ((self.critic_1, self.target_critic_1), (self.critic_2, self.target_critic_2)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.mul_(1 - self.tau).add_(self.tau * p.data)
        return critic_loss.item()

    def update_actor(self, obs, act):
        t = torch.randint(0, self.T, (len(obs), 1))
        noise = torch.randn_like(act)
        noisy = self.alpha_hats[t].sqrt() * act + (1 - self.alpha_hats[t]).sqrt() * noise
        noisy = noisy.detach().requires_grad_(True)
        x = torch.cat([obs, noisy], 1)
        q = 0.5 * (self.critic_1(x) + self.critic_2(x))
        critic_jacobian, = torch.autograd.grad(q.sum(), noisy)
        eps_estimate = self.score_model(torch.cat([obs, noisy.detach(), t / self.T], 1))
        actor_loss = (eps_estimate + self.M_q * critic_jacobian).pow(2).sum(-1).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        for p, tp in zip(self.score_model.parameters(), self.target_score_model.parameters()):
            tp.data.mul_(1 - self.tau).add_(self.tau * p.data)
        return actor_loss.item()


def env_step(obs, act):
    reward = -(act - obs.flip(1)).pow(2).sum(1, keepdim=True)
    return reward, 2 * torch.rand_like(obs) - 1


# %%
learner = QSMLearner()
buffer_obs = 2 * torch.rand(2000, 2) - 1
buffer_act = 2 * torch.rand(2000, 2) - 1
buffer_rew, buffer_next = env_step(buffer_obs, buffer_act)


def evaluate():
    obs = 2 * torch.rand(500, 2) - 1
    return env_step(obs, learner.sample_actions(obs, learner.target_score_model))[0].mean().item()


# %%
returns, critic_losses, actor_losses = [evaluate()], [], []
for iteration in range(500):
    i = torch.randint(0, 2000, (128,))
    critic_losses.append(learner.update_critic(buffer_obs[i], buffer_act[i], buffer_rew[i], buffer_next[i]))
    actor_losses.append(learner.update_actor(buffer_obs[i], buffer_act[i]))
returns.append(evaluate())
print(critic_losses[0], critic_losses[-1], actor_losses[0], actor_losses[-1], returns)
