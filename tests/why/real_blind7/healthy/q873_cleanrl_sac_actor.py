# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/sac_continuous_action.py
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(1)
actor = nn.Linear(3, 4)
qf1, qf1_target = nn.Linear(5, 1), nn.Linear(5, 1)
qf1_target.load_state_dict(qf1.state_dict())
q_optimizer = optim.Adam(qf1.parameters(), lr=1e-3)
actor_optimizer = optim.Adam(actor.parameters(), lr=3e-4)
target_entropy, gamma, tau = -2.0, 0.99, 0.005
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp().item()
a_optimizer = optim.Adam([log_alpha], lr=1e-3)
before = actor.weight.detach().clone()


def get_action(x):
    mean, log_std = actor(x).chunk(2, dim=1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    x_t = normal.rsample()  # for reparameterization trick (mean + std * N(0,1))
    action = torch.tanh(x_t)
    log_prob = (normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
    return action, log_prob


# %%
for global_step in range(3):
    obs, acts, rews, next_obs = torch.randn(16, 3), torch.rand(16, 2) * 2 - 1, torch.rand(16), torch.randn(16, 3)
    with torch.no_grad():
        next_state_actions, next_state_log_pi = get_action(next_obs)
        qf1_next_target = qf1_target(torch.cat([next_obs, next_state_actions], 1)) - alpha * next_state_log_pi
        next_q_value = rews + gamma * qf1_next_target.view(-1)
    qf_loss = F.mse_loss(qf1(torch.cat([obs, acts], 1)).view(-1), next_q_value)
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()

    pi, log_pi = get_action(obs)
    actor_loss = ((alpha * log_pi) - qf1(torch.cat([obs, pi], 1))).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()

    with torch.no_grad():
        _, log_pi = get_action(obs)
    alpha_loss = (-log_alpha.exp() * (log_pi + target_entropy)).mean()
    a_optimizer.zero_grad()
    alpha_loss.backward()
    a_optimizer.step()
    alpha = log_alpha.exp().item()

    for param, target_param in zip(qf1.parameters(), qf1_target.parameters()):
        target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
    print(global_step, qf_loss.item(), actor_loss.item(), alpha)
