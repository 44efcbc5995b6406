# https://github.com/oxwhirl/pymarl/issues/161
import copy

import torch as th
import torch.nn as nn
import torch.nn.functional as F

th.manual_seed(0)


class RNNAgent(nn.Module):
    def __init__(self, input_shape, rnn_hidden_dim=16, n_actions=3):
        super(RNNAgent, self).__init__()
        self.rnn_hidden_dim = rnn_hidden_dim
        self.fc1 = nn.Linear(input_shape, rnn_hidden_dim)
        self.rnn = nn.GRUCell(rnn_hidden_dim, rnn_hidden_dim)
        self.fc2 = nn.Linear(rnn_hidden_dim, n_actions)

    def init_hidden(self):
        # make hidden states on same device as model
        return self.fc1.weight.new(1, self.rnn_hidden_dim).zero_()

    def forward(self, inputs, hidden_state):
        x = F.relu(self.fc1(inputs))
        h_in = hidden_state.reshape(-1, self.rnn_hidden_dim)
        h = self.rnn(x, h_in)
        q = self.fc2(h)
        return q, h


def unroll(agent, obs):
    hidden_states = agent.init_hidden().expand(obs.shape[0], -1)
    mac_out = []
    for t in range(obs.shape[1]):
        agent_outs, hidden_states = agent(obs[:, t], hidden_states)
        mac_out.append(agent_outs)
    return th.stack(mac_out, dim=1)  # Concat over time


# %%
agent = RNNAgent(5)
target_agent = copy.deepcopy(agent)
optimiser = th.optim.RMSprop(params=agent.parameters(), lr=0.0005, alpha=0.99, eps=1e-5)

# %%
for t_env in range(3):
    obs, rewards = th.randn(8, 7, 5), th.randn(8, 6)
    actions = th.randint(0, 3, (8, 6, 1))
    mac_out = unroll(agent, obs)
    chosen_action_qvals = th.gather(mac_out[:, :-1], dim=2, index=actions).squeeze(2)
    target_mac_out = unroll(target_agent, obs)[:, 1:]
    mac_out_detach = mac_out.clone().detach()
    cur_max_actions = mac_out_detach[:, 1:].max(dim=2, keepdim=True)[1]
    target_max_qvals = th.gather(target_mac_out, 2, cur_max_actions).squeeze(2)
    targets = rewards + 0.99 * target_max_qvals
    td_error = (chosen_action_qvals - targets.detach())
    loss = (td_error ** 2).mean()

    optimiser.zero_grad()
    loss.backward()
    grad_norm = th.nn.utils.clip_grad_norm_(agent.parameters(), 10)
    optimiser.step()
