# https://github.com/starry-sky6688/MARL-Algorithms/issues/72
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as f

torch.manual_seed(0)
np.random.seed(0)
n_agents, n_actions, obs_dim, rnn_hidden_dim, episode_limit, gamma = 2, 3, 3, 32, 4, 0.5


class RNN(nn.Module):
    # Because all the agents share the same network, input_shape=obs_shape+n_actions+n_agents
    def __init__(self, input_shape):
        super(RNN, self).__init__()
        self.fc1 = nn.Linear(input_shape, rnn_hidden_dim)
        self.rnn = nn.GRUCell(rnn_hidden_dim, rnn_hidden_dim)
        self.fc2 = nn.Linear(rnn_hidden_dim, n_actions)

    def forward(self, obs, hidden_state):
        x = f.relu(self.fc1(obs))
        h_in = hidden_state.reshape(-1, rnn_hidden_dim)
        h = self.rnn(x, h_in)
        q = self.fc2(h)
        return q, h


class VDN:
    def __init__(self):
        self.eval_rnn = RNN(obs_dim + n_actions + n_agents)
        self.target_rnn = copy.deepcopy(self.eval_rnn)
        self.eval_parameters = list(self.eval_rnn.parameters())
        self.optimizer = torch.optim.RMSprop(self.eval_parameters, lr=5e-3)
        self.init_hidden(1)

    def init_hidden(self, episode_num):
        self.eval_hidden = torch.zeros((episode_num, n_agents, rnn_hidden_dim))
        self.target_hidden = torch.zeros((episode_num, n_agents, rnn_hidden_dim))

    def get_inputs(self, obs, last_action):
        ids = torch.eye(n_agents).expand(obs.shape[0], -1, -1)
        return torch.cat([obs, last_action, ids], dim=2).reshape(obs.shape[0] * n_agents, -1)

    def learn(self, batch, train_step):
        episode_num = batch['o'].shape[0]
        self.init_hidden(episode_num)
        q_evals, q_targets = [], []
        u_onehot = f.one_hot(batch['u'], n_actions).float()
        for t in range(episode_limit):
            last = u_onehot[:, t - 1] if t > 0 else torch.zeros_like(u_onehot[:, 0])
            q_eval, self.eval_hidden = self.eval_rnn(self.get_inputs(batch['o'][:, t], last), self.eval_hidden)
            q_target, self.target_hidden = self.target_rnn(self.get_inputs(batch['o'][:, t + 1], u_onehot[:, t]), self.target_hidden)
            q_evals.append(q_eval.view(episode_num, n_agents, -1))
            q_targets.append(q_target.view(episode_num, n_agents, -1))
        q_evals, q_targets = torch.stack(q_evals, dim=1), torch.stack(q_targets, dim=1)
        q_evals = torch.gather(q_evals, dim=3, index=batch['u'].unsqueeze(3)).squeeze(3)
        q_targets = q_targets.max(dim=3)[0]
        q_total_eval = torch.sum(q_evals, dim=2)
        q_total_target = torch.sum(q_targets, dim=2)
        targets = batch['r'] + gamma * q_total_target * (1 - batch['terminated'])

        td_error = targets.detach() - q_total_eval
        loss = (td_error ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.eval_parameters, 10)
        self.optimizer.step()
        if train_step > 0 and train_step % 20 == 0:
            self.target_rnn.load_state_dict(self.eval_rnn.state_dict())
        return loss.item()


class Agents:
    def __init__(self):
        self.policy = VDN()

    def choose_action(self, obs, last_action, agent_num, epsilon):
        agent_id = np.zeros(n_agents)
        agent_id[agent_num] = 1.
        inputs = np.hstack((obs, last_action, agent_id))
        hidden_state = self.policy.eval_hidden[:, agent_num, :]
        inputs = torch.tensor(inputs, dtype=torch.float32).unsqueeze(0)
        # get q value
        q_value, self.policy.eval_hidden[:, agent_num, :] = self.policy.eval_rnn(inputs, hidden_state)
        if np.random.uniform() < epsilon:
            return np.random.choice(n_actions)
        return torch.argmax(q_value).item()


# %%
def generate_episode(agents, epsilon):
    agents.policy.init_hidden(1)
    light = np.random.randint(0, n_actions, episode_limit + 1)
    o = np.repeat(np.eye(n_actions)[light][:, None], n_agents, 1)
    u, r, last_action = [], [], np.zeros((n_agents, n_actions))
    for t in range(episode_limit):
        actions = [agents.choose_action(o[t, i], last_action[i], i, epsilon) for i in range(n_agents)]
        last_action = np.eye(n_actions)[actions]
        u.append(actions)
        r.append(float(sum(a == light[t] for a in actions)))
    return torch.tensor(o).float(), torch.tensor(u), torch.tensor(r), torch.tensor([0.] * (episode_limit - 1) + [1.])


# %%
agents = Agents()
rewards, losses, train_step = [], [], 0
for epoch in range(25):
    episodes = [generate_episode(agents, epsilon=max(0.05, 1 - epoch / 12)) for _ in range(8)]
    batch = dict(zip(('o', 'u', 'r', 'terminated'), (torch.stack(x) for x in zip(*episodes))))
    for _ in range(4):
        losses.append(agents.policy.learn(batch, train_step))
        train_step += 1
    rewards.append(batch['r'].sum(1).mean().item())
print(rewards[0], rewards[-1], losses[-1])
