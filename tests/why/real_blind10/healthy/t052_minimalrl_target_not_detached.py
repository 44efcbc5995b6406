# https://github.com/seungeunrho/minimalRL/pull/41
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)
learning_rate, gamma = 0.0005, 0.98


class Qnet(nn.Module):
    def __init__(self):
        super(Qnet, self).__init__()
        self.fc1 = nn.Linear(4, 64)
        self.fc2 = nn.Linear(64, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)

    def sample_action(self, obs, epsilon):
        out = self.forward(obs)
        coin = random.random()
        if coin < epsilon:
            return random.randint(0, 1)
        else:
            return out.argmax().item()


def train(q, q_target, memory, optimizer):
    for i in range(10):
        s, a, r, s_prime, done_mask = random.choice(memory)

        q_out = q(s)
        q_a = q_out.gather(1, a)
        max_q_prime = q_target(s_prime).max(1)[0].unsqueeze(1)
        target = r + gamma * max_q_prime * done_mask
        loss = F.smooth_l1_loss(q_a, target)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


# %%
q = Qnet()
q_target = Qnet()
q_target.load_state_dict(q.state_dict())
memory = [(torch.randn(32, 4), torch.randint(0, 2, (32, 1)), torch.randn(32, 1), torch.randn(32, 4), torch.ones(32, 1))
          for _ in range(5)]
optimizer = optim.Adam(q.parameters(), lr=learning_rate)
target_before = q_target.fc1.weight.detach().clone()
print(q.sample_action(torch.randn(4), 0.1))
for n_epi in range(3):
    loss = train(q, q_target, memory, optimizer)
    print(n_epi, loss.item())
