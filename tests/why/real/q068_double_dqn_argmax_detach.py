# https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/29
import torch
import torch.nn as nn

net, tgt_net = nn.Linear(4, 3), nn.Linear(4, 3)
states_v, next_states_v = torch.randn(8, 4), torch.randn(8, 4)
actions_v, rewards_v, done_mask = torch.randint(3, (8,)), torch.randn(8), torch.rand(8) < 0.2
GAMMA = 0.99


# %%
def calc_loss(detach_actions):
    state_action_values = net(states_v).gather(1, actions_v.unsqueeze(-1)).squeeze(-1)
    next_state_actions = net(next_states_v).max(1)[1]
    if detach_actions:
        next_state_actions = next_state_actions.detach()
    next_state_values = tgt_net(next_states_v).gather(1, next_state_actions.unsqueeze(-1)).squeeze(-1)
    next_state_values[done_mask] = 0.0

    expected_state_action_values = next_state_values.detach() * GAMMA + rewards_v
    return nn.MSELoss()(state_action_values, expected_state_action_values)


# %%
loss_v = calc_loss(detach_actions=True)
loss_v.backward()
with_detach = net.weight.grad.clone()
net.zero_grad()
loss_v = calc_loss(detach_actions=False)
loss_v.backward()
without_detach = net.weight.grad.clone()
print((with_detach - without_detach).abs().max())
