# https://github.com/ClownW/Reinforcement-learning-with-PyTorch/issues/3
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class Net(nn.Module):
    def __init__(self, n_feature, n_hidden, n_output):
        super(Net, self).__init__()
        self.el = nn.Linear(n_feature, n_hidden)
        self.q = nn.Linear(n_hidden, n_output)

    def forward(self, x):
        return self.q(F.relu(self.el(x)))


class DeepQNetwork():
    def __init__(self, n_actions, n_features, n_hidden=20, learning_rate=0.01, reward_decay=0.9, batch_size=32):
        self.gamma, self.batch_size, self.n_features = reward_decay, batch_size, n_features
        self.memory = np.random.randn(200, n_features * 2 + 2).astype(np.float32)
        self.memory[:, n_features] = np.random.randint(0, n_actions, 200)
        self.loss_func = nn.MSELoss()
        self.cost_his = []
        self.q_eval, self.q_target = Net(n_features, n_hidden, n_actions), Net(n_features, n_hidden, n_actions)
        self.optimizer = torch.optim.RMSprop(self.q_eval.parameters(), lr=learning_rate)

    def learn(self):
        batch_memory = self.memory[np.random.choice(200, size=self.batch_size)]
        q_next, q_eval = self.q_target(torch.Tensor(batch_memory[:, -self.n_features:])), self.q_eval(torch.Tensor(batch_memory[:, :self.n_features]))
        q_target = torch.Tensor(q_eval.data.numpy().copy())
        batch_index = np.arange(self.batch_size, dtype=np.int32)
        eval_act_index = batch_memory[:, self.n_features].astype(int)
        reward = torch.Tensor(batch_memory[:, self.n_features+1])
        q_target[batch_index, eval_act_index] = reward + self.gamma*torch.max(q_next, 1)[0]

        loss = self.loss_func(q_eval, q_target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.cost_his.append(loss)

    def plot_cost(self):
        return np.arange(len(self.cost_his)), np.array(self.cost_his)


# %%
RL = DeepQNetwork(4, 2)
for step in range(10):
    RL.learn()

# %%
RL.plot_cost()
