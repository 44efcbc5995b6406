# https://github.com/watchernyu/REDQ/pull/3
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
obs_dim, act_dim, num_Q, alpha, gamma = 5, 2, 3, 0.2, 0.99


def mlp(*sizes):
    return nn.Sequential(*[m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())][:-1])


# %%
policy_net = mlp(obs_dim, 32, act_dim)
q_net_list = [mlp(obs_dim + act_dim, 32, 1) for _ in range(num_Q)]
q_target_net_list = [mlp(obs_dim + act_dim, 32, 1) for _ in range(num_Q)]
for q, t in zip(q_net_list, q_target_net_list):
    t.load_state_dict(q.state_dict())
policy_optimizer = optim.Adam(policy_net.parameters(), lr=3e-4)
q_optimizer_list = [optim.Adam(q.parameters(), lr=3e-4) for q in q_net_list]
mse_criterion = nn.MSELoss()


def sample_action(obs):
    mean = policy_net(obs)
    noise = torch.randn_like(mean)
    return torch.tanh(mean + 0.3 * noise), -(noise ** 2).sum(1, keepdim=True) / 2


# %%
for i_update in range(3):
    obs, acts, rews, obs_next, done = torch.randn(32, obs_dim), torch.rand(32, act_dim) * 2 - 1, torch.randn(32, 1), torch.randn(32, obs_dim), torch.zeros(32, 1)
    """Q loss"""
    with torch.no_grad():
        a_next, logp_next = sample_action(obs_next)
        min_q = torch.cat([t(torch.cat([obs_next, a_next], 1)) for t in q_target_net_list], 1).min(1, keepdim=True)[0]
        y_q = rews + gamma * (1 - done) * (min_q - alpha * logp_next)
    q_prediction_cat = torch.cat([q(torch.cat([obs, acts], 1)) for q in q_net_list], dim=1)
    q_loss_all = mse_criterion(q_prediction_cat, y_q.expand((-1, num_Q))) * num_Q

    for q_i in range(num_Q):
        q_optimizer_list[q_i].zero_grad()
    q_loss_all.backward()
    q_grad_norm = q_net_list[0][0].weight.grad.norm()

    """policy loss"""
    a_tilda, log_prob_a_tilda = sample_action(obs)
    q_a_tilda_cat = torch.cat([q(torch.cat([obs, a_tilda], 1)) for q in q_net_list], 1)
    ave_q = torch.mean(q_a_tilda_cat, dim=1, keepdim=True)
    policy_loss = (alpha * log_prob_a_tilda - ave_q).mean()
    policy_optimizer.zero_grad()
    policy_loss.backward()

    """update networks"""
    for q_i in range(num_Q):
        q_optimizer_list[q_i].step()
    policy_optimizer.step()
    print(q_loss_all.item(), policy_loss.item(), q_grad_norm.item())
