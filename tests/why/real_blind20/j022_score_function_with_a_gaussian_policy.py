# https://stackoverflow.com/questions/70163823/how-does-a-gradient-backpropagates-through-random-samples
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Normal

torch.manual_seed(0)

softplus = torch.nn.Softplus()


class Model_RL(nn.Module):
    def __init__(self):
        super(Model_RL, self).__init__()
        self.fc1 = nn.Linear(1, 20)
        self.fc2 = nn.Linear(20, 30)
        self.fc3 = nn.Linear(30, 2)

    def forward(self, x):
        x1 = self.fc1(x)
        x = torch.relu(x1)
        x2 = self.fc2(x)
        x = torch.relu(x2)
        x3 = softplus(self.fc3(x))
        return x3, x2, x1


# %%
# basic

net_RL = Model_RL()

features = torch.tensor([1.0])
x = torch.tensor([1.0])
y = torch.tensor(3.0)

baseline = 0
baseline_lr = 0.1

epochs = 3

opt_RL = optim.Adam(net_RL.parameters(), lr=1e-3)
losses = []
xs = []

# %%
for _ in range(epochs):
    out_RL = net_RL(x)
    mu, std = out_RL[0].detach()
    dist = Normal(mu, std)
    print(dist)
    a = dist.sample()
    log_p = dist.log_prob(a)

    out = features * a
    reward = -torch.square((y - out))
    baseline = (1 - baseline_lr) * baseline + baseline_lr * reward

    loss = -(reward - baseline) * log_p

    opt_RL.zero_grad()
    loss.backward()
    opt_RL.step()
    losses.append(loss.item())
    xs.append(a.item())
