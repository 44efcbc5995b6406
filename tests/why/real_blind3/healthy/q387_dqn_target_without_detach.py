# https://github.com/boyu-ai/Hands-on-RL/issues/28
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class Qnet(nn.Module):
    def __init__(self, state_dim, hidden_dim, action_dim):
        super(Qnet, self).__init__()
        self.fc1 = nn.Linear(state_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, action_dim)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class DQN:
    def __init__(self, state_dim=4, hidden_dim=16, action_dim=2, learning_rate=2e-3, gamma=0.98, target_update=3):
        self.q_net = Qnet(state_dim, hidden_dim, action_dim)
        self.target_q_net = Qnet(state_dim, hidden_dim, action_dim)
        self.target_q_net.load_state_dict(self.q_net.state_dict())
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=learning_rate)
        self.gamma, self.target_update, self.count = gamma, target_update, 0

    def update(self, transition_dict):
        states, actions = transition_dict['states'], transition_dict['actions'].view(-1, 1)
        rewards, dones = transition_dict['rewards'].view(-1, 1), transition_dict['dones'].view(-1, 1)
        next_states = transition_dict['next_states']

        q_values = self.q_net(states).gather(1, actions)
        max_next_q_values = self.target_q_net(next_states).max(1)[0].view(-1, 1)
        q_targets = rewards + self.gamma * max_next_q_values * (1 - dones)
        dqn_loss = torch.mean(F.mse_loss(q_values, q_targets))
        self.optimizer.zero_grad()
        dqn_loss.backward()
        self.optimizer.step()

        if self.count % self.target_update == 0:
            self.target_q_net.load_state_dict(self.q_net.state_dict())
        self.count += 1
        return dqn_loss.item()


# %%
agent = DQN()


def batch(n=16):
    return {'states': torch.randn(n, 4), 'actions': torch.randint(2, (n,)), 'rewards': torch.randn(n),
            'next_states': torch.randn(n, 4), 'dones': torch.zeros(n)}


target_moved = []
for i in range(5):
    transition_dict = batch()
    target_before = [p.detach().clone() for p in agent.target_q_net.parameters()]
    synchronised = agent.count % agent.target_update == 0
    print(i, agent.update(transition_dict))
    if not synchronised:
        target_moved.append(any(not torch.equal(b, p) for b, p in zip(target_before, agent.target_q_net.parameters())))
