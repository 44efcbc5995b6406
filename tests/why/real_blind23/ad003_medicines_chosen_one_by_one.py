# https://github.com/WOW5678/CompNet/issues/2
import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(1)
np.random.seed(1)


class CNN(nn.Module):
    def __init__(self, vocab_size, emb_size, num_channels, hidden_dim, dropout):
        super(CNN, self).__init__()
        self.embedding = nn.Embedding(embedding_dim=emb_size, num_embeddings=vocab_size)
        self.conv = nn.Sequential(nn.Conv1d(emb_size, num_channels, kernel_size=3, stride=2), nn.Tanh())
        self.dropout = dropout
        self.out = nn.Linear(num_channels, hidden_dim, bias=True)

    def forward(self, x):
        x_emb = self.embedding(x).unsqueeze(0).permute(0, 2, 1)
        x = self.conv(x_emb)
        features = F.max_pool1d(x, x.size(dim=2)).squeeze(dim=2)
        features = F.dropout(features, p=self.dropout)
        return self.out(features)


class DQN(nn.Module):
    def __init__(self, state_size, action_size):
        super(DQN, self).__init__()
        self.W = nn.Parameter(torch.FloatTensor(state_size, state_size))
        nn.init.xavier_uniform_(self.W.data)
        self.U = nn.Parameter(torch.FloatTensor(state_size, state_size))
        nn.init.xavier_uniform_(self.U.data)
        self.fc1 = nn.Linear(state_size, 32)
        self.fc2 = nn.Linear(32, action_size)
        self.learn_step_counter = 0

    def forward(self, x_):
        x_t, h_t_1 = x_[0], x_[1]
        state = torch.sigmoid(torch.mm(self.W, x_t.t()) + torch.mm(self.U, h_t_1.t()))
        fc1 = F.relu(self.fc1(state.t()))
        return state.t(), self.fc2(fc1)


class Agent(object):
    def __init__(self, state_size, action_size):
        self.action_size = action_size
        self.epsilon = 0.5
        self.cnn_diagnosis = CNN(30, state_size, 16, state_size, 0.5)
        self.cnn_procedure = CNN(20, state_size, 16, state_size, 0.5)
        self.model = DQN(state_size, action_size)
        self.target_model = DQN(state_size, action_size)
        self.graph = nn.Embedding(action_size, state_size)
        self.model_params = list(self.cnn_diagnosis.parameters()) + list(self.cnn_procedure.parameters()) + list(self.graph.parameters()) + list(self.model.parameters())
        self.optimizier = torch.optim.Adam(self.model_params, lr=1e-3, betas=(0.9, 0.999))
        self.loss = nn.MSELoss()
        self.target_model.load_state_dict(self.model.state_dict())

    def reset(self, x):
        return torch.cat((self.cnn_diagnosis(torch.LongTensor(x[0])), self.cnn_procedure(torch.LongTensor(x[1]))), 0)

    def act(self, x, h, selectedAction):
        if np.random.rand() < self.epsilon:
            return random.choice([a for a in range(self.action_size) if a not in selectedAction]), h
        next_h, output = self.model((x, h))
        output = output.detach().clone()
        output[0][selectedAction] = -999999
        return int(torch.max(output, 1)[1]), next_h

    def new_state(self, f, g):
        a = nn.functional.softmax(torch.mm(f, g.t()), dim=1)
        return torch.mm(a.t(), f) + g

    def replay(self, BATCH_SIZE):
        if self.model.learn_step_counter % 10 == 0:
            self.target_model.load_state_dict(self.model.state_dict())
        self.model.learn_step_counter += 1
        batch = [memory[i] for i in np.random.choice(len(memory), BATCH_SIZE)]
        b_x = torch.cat([m[0] for m in batch], 0)
        b_h = torch.cat([m[1] for m in batch], 0)
        b_action = torch.LongTensor([m[2] for m in batch]).unsqueeze(1)
        b_reward = torch.FloatTensor([m[3] for m in batch])
        b_next_x = torch.cat([m[4] for m in batch], 0)
        b_next_h = torch.cat([m[5] for m in batch], 0)
        _, q_eval = self.model((b_x, b_h))
        q_eval = q_eval.gather(1, b_action)
        _, q_next = self.target_model((b_next_x, b_next_h))
        q_target = (b_reward + q_next.detach().max(1)[0]).unsqueeze(1)
        loss = self.loss(q_eval, q_target)
        self.optimizier.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizier.step()
        return loss


# %%
state_size, action_size = 12, 10
agent = Agent(state_size, action_size)
memory = collections.deque(maxlen=1000)
X_train = [(np.random.randint(0, 30, 8), np.random.randint(0, 20, 6)) for _ in range(12)]
Y_train = [set(np.random.randint(0, 9, 4).tolist()) for _ in range(12)]

# %%
epochLoss = []
for x, y in zip(X_train, Y_train):
    g = agent.graph.weight.mean(0, keepdim=True)
    f = agent.reset(x)
    h = torch.FloatTensor(np.zeros((1, state_size)))
    selectedAction = []
    for step in range(len(y)):
        x = agent.new_state(f, g)
        action, next_h = agent.act(x, h, selectedAction)
        reward = 1 if action in y else -1
        selectedAction.append(action)
        g = agent.graph.weight[selectedAction].mean(0, keepdim=True)
        next_x = agent.new_state(f, g)
        memory.append((x, h, action, reward, next_x, next_h))
        x, h = next_x, next_h
    if len(memory) > 8:
        epochLoss.append(float(agent.replay(8)))
print(epochLoss)
