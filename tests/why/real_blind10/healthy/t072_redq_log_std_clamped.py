# https://github.com/watchernyu/REDQ/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)
LOG_SIG_MAX, LOG_SIG_MIN, ACTION_BOUND_EPSILON = 2, -20, 1E-6


class Mlp(nn.Module):
    def __init__(self, input_size, output_size, hidden_sizes=(32, 32)):
        super().__init__()
        self.hidden_layers = nn.ModuleList()
        for next_size in hidden_sizes:
            self.hidden_layers.append(nn.Linear(input_size, next_size))
            input_size = next_size
        self.last_fc_layer = nn.Linear(input_size, output_size)

    def forward(self, h):
        for fc_layer in self.hidden_layers:
            h = F.relu(fc_layer(h))
        return self.last_fc_layer(h)


class TanhGaussianPolicy(Mlp):
    def __init__(self, obs_dim, action_dim):
        super().__init__(obs_dim, action_dim)
        self.last_fc_log_std = nn.Linear(32, action_dim)

    def forward(self, obs):
        h = obs
        for fc_layer in self.hidden_layers:
            h = F.relu(fc_layer(h))
        mean = self.last_fc_layer(h)
        log_std = self.last_fc_log_std(h)
        log_std = torch.clamp(log_std, LOG_SIG_MIN, LOG_SIG_MAX)
        std = torch.exp(log_std)
        normal = Normal(mean, std)
        pre_tanh_value = normal.rsample()
        action = torch.tanh(pre_tanh_value)
        log_prob = normal.log_prob(pre_tanh_value) - torch.log(1 - action.pow(2) + ACTION_BOUND_EPSILON)
        return action, log_prob.sum(1, keepdim=True)


# %%
policy_net = TanhGaussianPolicy(5, 2)
q_net_list = [Mlp(7, 1) for _ in range(5)]
q_target_net_list = [Mlp(7, 1) for _ in range(5)]
for q, q_target in zip(q_net_list, q_target_net_list):
    q_target.load_state_dict(q.state_dict())
policy_optimizer = torch.optim.Adam(policy_net.parameters(), lr=3e-4)
q_optimizer_list = [torch.optim.Adam(q.parameters(), lr=3e-4) for q in q_net_list]
alpha, gamma, polyak = 0.2, 0.99, 0.995

# %%
for i_update in range(4):
    obs, obs_next = torch.randn(2, 32, 5)
    acts, rews = torch.rand(32, 2) * 2 - 1, torch.randn(32, 1)
    with torch.no_grad():
        a_next, log_prob_next = policy_net(obs_next)
        chosen = torch.randperm(5)[:2]
        q_next = torch.cat([q_target_net_list[i](torch.cat([obs_next, a_next], 1)) for i in chosen], 1)
        y_q = rews + gamma * (q_next.min(1, keepdim=True)[0] - alpha * log_prob_next)
    q_prediction = torch.cat([q(torch.cat([obs, acts], 1)) for q in q_net_list], dim=1)
    q_loss_all = F.mse_loss(q_prediction, y_q.expand((-1, 5))) * 5
    for opt in q_optimizer_list:
        opt.zero_grad()
    q_loss_all.backward()

    a_tilda, log_prob = policy_net(obs)
    for q in q_net_list:
        q.requires_grad_(False)
    ave_q = torch.cat([q(torch.cat([obs, a_tilda], 1)) for q in q_net_list], 1).mean(dim=1, keepdim=True)
    policy_loss = (alpha * log_prob - ave_q).mean()
    policy_optimizer.zero_grad()
    policy_loss.backward()
    for q in q_net_list:
        q.requires_grad_(True)

    for opt in q_optimizer_list:
        opt.step()
    policy_optimizer.step()
    for q, q_target in zip(q_net_list, q_target_net_list):
        for t, s in zip(q_target.parameters(), q.parameters()):
            t.data.copy_(t.data * polyak + s.data * (1 - polyak))
    print(i_update, q_loss_all.item(), policy_loss.item())
