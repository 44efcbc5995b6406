# https://github.com/datawhalechina/easy-rl/issues/140
import torch
import torch.nn as nn

torch.manual_seed(0)


class DuelingNet(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=32):
        super().__init__()
        self.hidden_layer = nn.Sequential(nn.Linear(n_states, hidden_dim), nn.ReLU())
        self.advantage_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, n_actions))
        self.value_layer = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, state):
        x = self.hidden_layer(state)
        advantage = self.advantage_layer(x)
        value = self.value_layer(x)
        return value + advantage - advantage.mean()


# %%
net = DuelingNet(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for step in range(5):
    states, actions, targets = torch.randn(16, 4), torch.randint(0, 2, (16, 1)), torch.randn(16, 1)
    q_values = net(states).gather(1, actions)
    loss = nn.functional.mse_loss(q_values, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
