# https://pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
BATCH_SIZE, GAMMA, TAU, LR = 32, 0.99, 0.005, 3e-4


def DQN(n_observations, n_actions):
    return nn.Sequential(nn.Linear(n_observations, 32), nn.ReLU(), nn.Linear(32, n_actions))


policy_net, target_net = DQN(4, 2), DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
before = target_net[0].weight.detach().clone()

# %%
for step in range(3):
    state_batch, action_batch = torch.randn(BATCH_SIZE, 4), torch.randint(0, 2, (BATCH_SIZE, 1))
    reward_batch, non_final_mask = torch.rand(BATCH_SIZE), torch.rand(BATCH_SIZE) > 0.1
    non_final_next_states = torch.randn(int(non_final_mask.sum()), 4)

    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch

    loss = nn.SmoothL1Loss()(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    # In-place gradient clipping
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()

    # Soft update of the target network's weights
    target_net_state_dict = target_net.state_dict()
    policy_net_state_dict = policy_net.state_dict()
    for key in policy_net_state_dict:
        target_net_state_dict[key] = policy_net_state_dict[key] * TAU + target_net_state_dict[key] * (1 - TAU)
    target_net.load_state_dict(target_net_state_dict)
    print(step, loss.item())
