# https://github.com/philtabor/Deep-Q-Learning-Paper-To-Code/issues/16
import torch
import torch.nn as nn


class DQNAgent:
    def __init__(self, gamma=0.99):
        self.gamma = gamma
        self.q_eval = nn.Linear(4, 2)
        self.q_next = nn.Linear(4, 2)
        self.optimizer = torch.optim.RMSprop(self.q_eval.parameters(), lr=1e-3)
        self.loss = nn.MSELoss()

    def learn(self, states, actions, rewards, states_, dones):
        self.optimizer.zero_grad()

        indices = torch.arange(len(states))

        q_pred = self.q_eval.forward(states)[indices, actions]
        q_next = self.q_next.forward(states_).max(dim=1)[0]

        q_next[dones] = 0.0
        q_target = rewards + self.gamma*q_next

        loss = self.loss(q_target, q_pred)
        loss.backward()
        self.optimizer.step()
        return q_next


# %%
agent = DQNAgent()
q_next = agent.learn(torch.randn(8, 4), torch.randint(2, (8,)), torch.randn(8), torch.randn(8, 4), torch.rand(8) < 0.2)

# %%
print(q_next.requires_grad, agent.q_next.weight.grad)
