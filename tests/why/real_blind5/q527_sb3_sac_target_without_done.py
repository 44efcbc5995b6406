# https://github.com/DLR-RM/stable-baselines3/issues/76
import torch as th
import torch.nn as nn
import torch.nn.functional as F

th.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.latent_pi = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU())
        self.mu, self.log_std = nn.Linear(32, act_dim), nn.Linear(32, act_dim)

    def action_log_prob(self, obs):
        h = self.latent_pi(obs)
        dist = th.distributions.Normal(self.mu(h), self.log_std(h).clamp(-5, 2).exp())
        u = dist.rsample()
        a = th.tanh(u)
        return a, (dist.log_prob(u) - th.log(1 - a ** 2 + 1e-6)).sum(1)


class Critic(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(obs_dim + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q2 = nn.Sequential(nn.Linear(obs_dim + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, actions):
        x = th.cat([obs, actions], 1)
        return self.q1(x), self.q2(x)


class SAC:
    def __init__(self, gamma=0.99, tau=0.005, ent_coef=0.2):
        self.actor, self.critic, self.critic_target = Actor(), Critic(), Critic()
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.actor_optimizer = th.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = th.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.gamma, self.tau, self.ent_coef = gamma, tau, ent_coef

    def train(self, obs, actions, rewards, dones, next_obs):
        with th.no_grad():
            next_action, next_log_prob = self.actor.action_log_prob(next_obs)
            target_q1, target_q2 = self.critic_target(next_obs, next_action)
            target_q = th.min(target_q1, target_q2)
            target_q = rewards + (1 - dones) * self.gamma * target_q
            target_q -= self.ent_coef * next_log_prob.reshape(-1, 1)
        current_q1, current_q2 = self.critic(obs, actions)
        critic_loss = 0.5 * (F.mse_loss(current_q1, target_q) + F.mse_loss(current_q2, target_q))
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actions_pi, log_prob = self.actor.action_log_prob(obs)
        actor_loss = (self.ent_coef * log_prob.reshape(-1, 1) - th.min(*self.critic(obs, actions_pi))).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        for param, target_param in zip(self.critic.parameters(), self.critic_target.parameters()):
            target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)
        return critic_loss, actor_loss, target_q


# %%
agent = SAC()
for gradient_step in range(3):
    obs, next_obs = th.randn(32, 4), th.randn(32, 4)
    actions, rewards = th.rand(32, 2) * 2 - 1, th.randn(32, 1)
    dones = (th.rand(32, 1) < 0.2).float()
    critic_loss, actor_loss, target_q = agent.train(obs, actions, rewards, dones, next_obs)
    print(gradient_step, critic_loss.item(), actor_loss.item())
