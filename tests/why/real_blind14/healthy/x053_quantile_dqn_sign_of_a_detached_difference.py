# https://github.com/senya-ashukha/quantile-regression-dqn-pytorch/issues/2
import random
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)


def huber(x, k=1.0):
    return torch.where(x.abs() < k, 0.5 * x.pow(2), k * (x.abs() - 0.5 * k))


class Corridor:
    """Six places in a row; the right end pays one or three by chance, the left end a half."""

    def reset(self):
        self.place = 2
        return self.place

    def step(self, action):
        self.place += 1 if action == 1 else -1
        if self.place == 5:
            return self.place, random.choice([1.0, 3.0]), True
        if self.place == 0:
            return self.place, 0.5, True
        return self.place, 0.0, False


class Network(nn.Module):
    def __init__(self, len_state, num_quant, num_actions):
        super().__init__()
        self.num_quant, self.num_actions = num_quant, num_actions
        self.layer1 = nn.Linear(len_state, 64)
        self.layer2 = nn.Linear(64, num_actions * num_quant)
        self.register_buffer('eye', torch.eye(len_state))

    def forward(self, state):
        x = torch.tanh(self.layer1(self.eye[state]))
        return self.layer2(x).view(-1, self.num_actions, self.num_quant)

    def select_action(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.num_actions)
        return int(self(torch.tensor([state])).mean(2).argmax(1))


# %%
env, memory = Corridor(), []
Z = Network(len_state=6, num_quant=8, num_actions=2)
Ztgt = Network(len_state=6, num_quant=8, num_actions=2)
Ztgt.load_state_dict(Z.state_dict())
optimizer = torch.optim.Adam(Z.parameters(), 5e-3)
tau = ((2 * torch.arange(8) + 1) / 16.0).view(1, -1)
gamma, batch_size, steps_done = 0.9, 32, 0

# %%
for episode in range(150):
    state, done = env.reset(), False
    while not done:
        action = Z.select_action(state, eps=max(0.1, 1 - steps_done / 300))
        next_state, reward, done = env.step(action)
        memory.append((state, action, next_state, reward, float(done)))
        state, steps_done = next_state, steps_done + 1
        if len(memory) < batch_size:
            continue
        s, a, s1, r, d = map(np.array, zip(*random.sample(memory, batch_size)))
        theta = Z(torch.tensor(s))[range(batch_size), a]
        Znext = Ztgt(torch.tensor(s1)).detach()
        best = Znext.mean(2).argmax(1)
        Ttheta = torch.tensor(r).float().unsqueeze(1) + gamma * (1 - torch.tensor(d).float().unsqueeze(1)) * Znext[range(batch_size), best]
        diff = Ttheta.t().unsqueeze(-1) - theta
        loss = huber(diff) * (tau - (diff.detach() < 0).float()).abs()
        loss = loss.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if steps_done % 50 == 0:
            Ztgt.load_state_dict(Z.state_dict())

# %%
with torch.no_grad():
    last = Z(torch.tensor([4]))[0, 1]
print(last.tolist())
assert all(Z(torch.tensor([p])).mean(2).argmax(1).item() == 1 for p in (2, 3, 4))
assert last.max() - last.min() > 1.0
assert all(p.grad is None for p in Ztgt.parameters())
