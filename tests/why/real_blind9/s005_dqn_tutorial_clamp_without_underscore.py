# https://github.com/pytorch/tutorials/pull/30
import random
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)
Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))


class DQN(nn.Module):
    def __init__(self):
        super(DQN, self).__init__()
        self.fc = nn.Linear(4, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(F.relu(self.fc(x)))


BATCH_SIZE = 16
GAMMA = 0.999
model = DQN()
optimizer = optim.RMSprop(model.parameters())
memory = [Transition(torch.randn(1, 4), torch.randint(0, 2, (1, 1)), torch.randn(1, 4), torch.tensor([50.0]))
          for _ in range(64)]


# %%
def optimize_model():
    global loss
    transitions = random.sample(memory, BATCH_SIZE)
    batch = Transition(*zip(*transitions))
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)

    state_action_values = model(state_batch).gather(1, action_batch)
    next_state_values = model(torch.cat(batch.next_state)).max(1)[0].detach()
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch

    loss = F.mse_loss(state_action_values, expected_state_action_values.unsqueeze(1))

    # Optimize the model
    optimizer.zero_grad()
    loss.backward()
    for param in model.parameters():
        param.grad.data.clamp(-1, 1)
    optimizer.step()


# %%
for t in range(10):
    optimize_model()
