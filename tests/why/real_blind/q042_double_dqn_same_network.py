# https://github.com/datawhalechina/easy-rl/pull/117
import copy

import torch
import torch.nn as nn


class DoubleDQN:
    def __init__(self, model, gamma=0.95):
        self.policy_net = model
        self.target_net = model
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=1e-2)
        self.gamma = gamma

    def update(self, state, action, reward, next_state):
        q = self.policy_net(state).gather(1, action)
        best = self.policy_net(next_state).max(1, keepdim=True)[1]
        target = reward + self.gamma * self.target_net(next_state).gather(1, best).detach()
        loss = nn.MSELoss()(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


# %%
agent = DoubleDQN(nn.Linear(4, 2))
for _ in range(5):
    agent.update(torch.randn(8, 4), torch.randint(2, (8, 1)), torch.randn(8, 1), torch.randn(8, 4))

# %%
print(torch.equal(agent.policy_net.weight, agent.target_net.weight))
