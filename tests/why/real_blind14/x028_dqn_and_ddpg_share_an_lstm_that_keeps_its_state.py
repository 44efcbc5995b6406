# https://discuss.pytorch.org/t/can-not-create-a-new-calculation-graph-after-the-backward-propagation/45026
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
GAMMA_DQN = 0.9


class Model(nn.Module):
    def __init__(self, n_env=6, n_state=4, n_hidden=8, n_actions=3):
        super().__init__()
        self.cnn = nn.Conv1d(1, 4, 3, padding=1)
        self.lstm = nn.LSTM(4 * n_env, n_hidden, batch_first=True)
        self.dqn = nn.Linear(n_hidden + n_state, n_actions)
        self.actor = nn.Linear(n_hidden + n_state, 1)
        self.critic = nn.Linear(n_hidden + n_state + 1, 1)
        self.hidden = None

    def forward_cnnlstm(self, env):
        batch, time, n_env = env.shape
        x = F.relu(self.cnn(env.reshape(batch * time, 1, n_env))).reshape(batch, time, -1)
        out, hidden = self.lstm(x, self.hidden)
        self.hidden = hidden
        return out[:, -1]

    def forward_dqn(self, state, abstracted):
        return self.dqn(torch.cat([abstracted, state], dim=1))

    def forward_actor(self, state, abstracted):
        return torch.tanh(self.actor(torch.cat([abstracted, state], dim=1)))

    def forward_critic(self, state, abstracted, action):
        return self.critic(torch.cat([abstracted, state, action], dim=1))


# %%
model = Model()
optimizer_cnnlstm = torch.optim.Adam([*model.cnn.parameters(), *model.lstm.parameters()], lr=1e-3)
optimizer_dqn = torch.optim.Adam(model.dqn.parameters(), lr=1e-3)
optimizer_actor = torch.optim.Adam(model.actor.parameters(), lr=1e-3)
s_cnnlstm, s_dqn = torch.randn(16, 5, 6), torch.randn(16, 4)
a_dqn, r, q_next = torch.randint(0, 3, (16, 1)), torch.randn(16, 1), torch.randn(16, 3)

# dqn
s_cnnlstm_out = model.forward_cnnlstm(s_cnnlstm)
q_eval_dqn = model.forward_dqn(s_dqn, s_cnnlstm_out).gather(1, a_dqn)
q_target_dqn = r + GAMMA_DQN * q_next.max(dim=1)[0].reshape(16, 1)
loss_dqn = F.mse_loss(q_eval_dqn, q_target_dqn)
optimizer_cnnlstm.zero_grad()
optimizer_dqn.zero_grad()
loss_dqn.backward()
optimizer_cnnlstm.step()
optimizer_dqn.step()

# ddpg, actor: forward propagate the CNN and the LSTM again
s_cnnlstm_out = model.forward_cnnlstm(s_cnnlstm)
a_ddpg = model.forward_actor(s_dqn, s_cnnlstm_out)
loss_ddpg_actor = -model.forward_critic(s_dqn, s_cnnlstm_out, a_ddpg).mean()
optimizer_cnnlstm.zero_grad()
optimizer_actor.zero_grad()
loss_ddpg_actor.backward()
optimizer_cnnlstm.step()
optimizer_actor.step()
