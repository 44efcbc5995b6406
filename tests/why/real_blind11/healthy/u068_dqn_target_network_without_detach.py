# https://github.com/philtabor/Deep-Q-Learning-Paper-To-Code/issues/9
import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

T.manual_seed(0)
np.random.seed(0)


class DeepQNetwork(nn.Module):
    def __init__(self, lr, n_actions, input_dims):
        super(DeepQNetwork, self).__init__()
        self.fc1 = nn.Linear(input_dims, 32)
        self.fc2 = nn.Linear(32, n_actions)
        self.optimizer = optim.RMSprop(self.parameters(), lr=lr)
        self.loss = nn.MSELoss()

    def forward(self, state):
        return self.fc2(F.relu(self.fc1(state)))


class DQNAgent(object):
    def __init__(self, gamma=0.99, lr=0.001, n_actions=3, input_dims=6, batch_size=32, replace=10):
        self.gamma, self.batch_size, self.replace_target_cnt = gamma, batch_size, replace
        self.learn_step_counter = 0
        self.q_eval = DeepQNetwork(lr, n_actions, input_dims)
        self.q_next = DeepQNetwork(lr, n_actions, input_dims)

    def replace_target_network(self):
        if self.learn_step_counter % self.replace_target_cnt == 0:
            self.q_next.load_state_dict(self.q_eval.state_dict())

    def learn(self, states, actions, rewards, states_, dones):
        self.q_eval.optimizer.zero_grad()
        self.replace_target_network()
        indices = np.arange(self.batch_size)

        q_pred = self.q_eval.forward(states)[indices, actions]
        q_next = self.q_next.forward(states_).max(dim=1)[0]

        q_next[dones] = 0.0
        q_target = rewards + self.gamma*q_next

        loss = self.q_eval.loss(q_target, q_pred)
        loss.backward()
        self.q_eval.optimizer.step()
        self.learn_step_counter += 1
        return loss.item()


# %%
agent = DQNAgent()
memory = (T.randn(32, 6), T.randint(0, 3, (32,)), T.randn(32), T.randn(32, 6), T.rand(32) < 0.1)
losses = [agent.learn(*memory) for _ in range(4)]
next_before = agent.q_next.fc1.weight.detach().clone()
losses += [agent.learn(*memory) for _ in range(6)]
print(losses[0], losses[-1])
assert T.equal(agent.q_next.fc1.weight, next_before)
assert not T.equal(agent.q_eval.fc1.weight, agent.q_next.fc1.weight) and losses[-1] < losses[0]
