# https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/59
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DDPGCritic(nn.Module):
    def __init__(self, obs_size, act_size):
        super(DDPGCritic, self).__init__()
        self.obs_net = nn.Sequential(nn.Linear(obs_size, 32), nn.ReLU())
        self.out_net = nn.Sequential(nn.Linear(32 + act_size, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, a):
        return self.out_net(torch.cat([self.obs_net(x), a], dim=1))


# %%
act_net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2), nn.Tanh())
crt_net = DDPGCritic(6, 2)
act_opt = torch.optim.Adam(act_net.parameters(), lr=1e-4)
crt_opt = torch.optim.Adam(crt_net.parameters(), lr=1e-4)
states_v, actions_v, q_ref_v = torch.randn(32, 6), torch.rand(32, 2), torch.randn(32, 1)
actor_before = copy.deepcopy(act_net)

# %%
for frame_idx in range(30):
    # train critic
    crt_opt.zero_grad()
    q_v = crt_net(states_v, actions_v)
    critic_loss_v = F.mse_loss(q_v, q_ref_v.detach())
    critic_loss_v.backward()
    crt_opt.step()

    # train actor
    act_opt.zero_grad()
    cur_actions_v = act_net(states_v)
    actor_loss_v = -crt_net(states_v, cur_actions_v)
    actor_loss_v = actor_loss_v.mean()
    actor_loss_v.backward()
    act_opt.step()
    print(frame_idx, critic_loss_v.item(), actor_loss_v.item())
# the critic of the end prefers the actions of the trained actor
assert crt_net(states_v, act_net(states_v)).mean() > crt_net(states_v, actor_before(states_v)).mean()
