# https://github.com/BY571/DQN-Atari-Agents/issues/5
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
BATCH, GAMMA, n_step = 16, 0.99, 1
qnetwork_local = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
qnetwork_target = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = optim.Adam(qnetwork_local.parameters(), lr=1e-3)


# %%
def learn_per(experiences):
    states, actions, rewards, next_states, dones, idx, weights = experiences
    optimizer.zero_grad()
    # Get max predicted Q values (for next states) from target model
    Q_targets_next = qnetwork_target(next_states).detach().max(1)[0].unsqueeze(1)
    # Compute Q targets for current states
    Q_targets = rewards + (GAMMA**n_step * Q_targets_next * (1 - dones))
    # Get expected Q values from local model
    Q_expected = qnetwork_local(states).gather(1, actions)
    # Compute loss
    td_error = Q_targets - Q_expected
    loss = td_error.pow(2)*weights.mean()
    # Minimize the loss
    loss.backward()
    optimizer.step()
    return loss.detach()


# %%
experiences = (torch.randn(BATCH, 4), torch.randint(0, 2, (BATCH, 1)), torch.randn(BATCH, 1), torch.randn(BATCH, 4), torch.zeros(BATCH, 1), list(range(BATCH)), torch.rand(BATCH, 1))
loss = learn_per(experiences)
