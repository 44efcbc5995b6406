# https://github.com/MrSyee/pg-is-all-you-need/issues/30
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, in_dim, out_dim, log_std_min=-20, log_std_max=2):
        super(Actor, self).__init__()
        self.log_std_min, self.log_std_max = log_std_min, log_std_max
        self.hidden1 = nn.Linear(in_dim, 32)
        self.log_std_layer = nn.Linear(32, out_dim)
        self.mu_layer = nn.Linear(32, out_dim)

    def forward(self, state):
        x = F.relu(self.hidden1(state))
        mu = self.mu_layer(x).tanh()
        log_std = self.log_std_layer(x).tanh()
        log_std = self.log_std_min + 0.5 * (self.log_std_max - self.log_std_min) * (log_std + 1)
        dist = Normal(mu, torch.exp(log_std))
        z = dist.rsample()
        action = z.tanh()
        log_prob = dist.log_prob(z) - torch.log(1 - action.pow(2) + 1e-7)
        return action, log_prob.sum(-1, keepdim=True)


def critic(in_dim):
    return nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU(), nn.Linear(32, 1))


class SACAgent:
    def __init__(self, obs_dim, action_dim, gamma=0.99, tau=5e-3, policy_update_freq=2):
        self.gamma, self.tau, self.policy_update_freq = gamma, tau, policy_update_freq
        self.target_entropy = -float(action_dim)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = optim.Adam([self.log_alpha], lr=3e-4)
        self.actor = Actor(obs_dim, action_dim)
        self.vf, self.vf_target = critic(obs_dim), critic(obs_dim)
        self.vf_target.load_state_dict(self.vf.state_dict())
        self.qf_1, self.qf_2 = critic(obs_dim + action_dim), critic(obs_dim + action_dim)
        self.actor_optimizer = optim.Adam(self.actor.parameters(), lr=3e-4)
        self.vf_optimizer = optim.Adam(self.vf.parameters(), lr=3e-4)
        self.qf_optimizer = optim.Adam([*self.qf_1.parameters(), *self.qf_2.parameters()], lr=3e-4)
        self.total_step = 0

    def q(self, qf, state, action):
        return qf(torch.cat((state, action), dim=-1))

    def update_model(self, state, action, reward, next_state, done):
        self.total_step += 1
        new_action, log_prob = self.actor(state)

        # train alpha (dual problem)
        alpha_loss = (-self.log_alpha.exp() * (log_prob + self.target_entropy).detach()).mean()
        self.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.alpha_optimizer.step()
        alpha = self.log_alpha.exp()

        # q function loss
        q_target = reward + self.gamma * self.vf_target(next_state) * (1 - done)
        qf_1_loss = F.mse_loss(self.q(self.qf_1, state, action), q_target.detach())
        qf_2_loss = F.mse_loss(self.q(self.qf_2, state, action), q_target.detach())

        # v function loss
        v_pred = self.vf(state)
        q_pred = torch.min(self.q(self.qf_1, state, new_action), self.q(self.qf_2, state, new_action))
        vf_loss = F.mse_loss(v_pred, (q_pred - alpha * log_prob).detach())

        # train Q functions
        self.qf_optimizer.zero_grad()
        (qf_1_loss + qf_2_loss).backward()
        self.qf_optimizer.step()

        # train V function
        self.vf_optimizer.zero_grad()
        vf_loss.backward()
        self.vf_optimizer.step()

        if self.total_step % self.policy_update_freq == 0:
            # actor loss
            advantage = q_pred - v_pred.detach()
            actor_loss = (alpha * log_prob - advantage).mean()

            # train actor
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            with torch.no_grad():
                for t_param, l_param in zip(self.vf_target.parameters(), self.vf.parameters()):
                    t_param.mul_(1.0 - self.tau).add_(self.tau * l_param)
        return vf_loss.item()


# %%
agent = SACAgent(obs_dim=3, action_dim=1)
for step in range(4):
    state, next_state = torch.randn(32, 3), torch.randn(32, 3)
    action, reward, done = torch.rand(32, 1) * 2 - 1, -torch.rand(32, 1), torch.zeros(32, 1)
    print(step, agent.update_model(state, action, reward, next_state, done))
