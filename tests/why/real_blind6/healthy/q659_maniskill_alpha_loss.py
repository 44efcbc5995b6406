# https://github.com/mani-skill/ManiSkill/issues/899
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)

LOG_STD_MAX = 2
LOG_STD_MIN = -5


class Actor(nn.Module):
    def __init__(self, obs_dim=5, act_dim=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU())
        self.fc_mean = nn.Linear(32, act_dim)
        self.fc_logstd = nn.Linear(32, act_dim)

    def forward(self, x):
        x = self.backbone(x)
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - y_t.pow(2) + 1e-6)
        return y_t, log_prob.sum(1, keepdim=True), torch.tanh(mean)


actor = Actor()
qf1 = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
qf1_target = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
qf1_target.load_state_dict(qf1.state_dict())
q_optimizer = optim.Adam(qf1.parameters(), lr=3e-4)
actor_optimizer = optim.Adam(actor.parameters(), lr=3e-4)
target_entropy = -2.0
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp().item()
a_optimizer = optim.Adam([log_alpha], lr=3e-4)
actor_touched = False

# %%
for global_update in range(4):
    obs, actions, next_obs, rewards = torch.randn(32, 5), torch.rand(32, 2) * 2 - 1, torch.randn(32, 5), torch.rand(32)

    # update the value networks
    with torch.no_grad():
        next_state_actions, next_state_log_pi, _ = actor.get_action(next_obs)
        qf1_next_target = qf1_target(torch.cat([next_obs, next_state_actions], 1)) - alpha * next_state_log_pi
        next_q_value = rewards + 0.99 * qf1_next_target.view(-1)
    qf_loss = F.mse_loss(qf1(torch.cat([obs, actions], 1)).view(-1), next_q_value)
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()

    # update the policy network
    pi, log_pi, _ = actor.get_action(obs)
    actor_loss = ((alpha * log_pi) - qf1(torch.cat([obs, pi], 1))).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()

    # autotune
    with torch.no_grad():
        _, log_pi, _ = actor.get_action(obs)
    kept = actor.fc_mean.weight.grad.clone()
    alpha_loss = (-log_alpha.exp() * (log_pi + target_entropy)).mean()
    a_optimizer.zero_grad()
    alpha_loss.backward()
    a_optimizer.step()
    alpha = log_alpha.exp().item()
    actor_touched = actor_touched or not torch.equal(kept, actor.fc_mean.weight.grad)

    # update the target networks
    for param, target_param in zip(qf1.parameters(), qf1_target.parameters()):
        target_param.data.copy_(0.01 * param.data + (1 - 0.01) * target_param.data)
    print(global_update, qf_loss.item(), actor_loss.item(), alpha)
