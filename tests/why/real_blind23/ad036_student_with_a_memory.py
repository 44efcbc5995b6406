# https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/issues/248
from typing import NamedTuple, Tuple

import torch as th
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

th.manual_seed(0)


class RNNStates(NamedTuple):
    pi: Tuple[th.Tensor, ...]
    vf: Tuple[th.Tensor, ...]


class RecurrentActorCriticPolicy(nn.Module):
    def __init__(self, obs_dim, action_dim, lstm_hidden_size=16):
        super().__init__()
        self.lstm_actor = nn.LSTM(obs_dim, lstm_hidden_size)
        self.lstm_critic = nn.LSTM(obs_dim, lstm_hidden_size)
        self.action_net = nn.Linear(lstm_hidden_size, action_dim)
        self.value_net = nn.Linear(lstm_hidden_size, 1)
        self.log_std = nn.Parameter(th.zeros(action_dim))

    @staticmethod
    def _process_sequence(features, lstm_states, episode_starts, lstm):
        n_seq = lstm_states[0].shape[1]
        features_sequence = features.reshape((n_seq, -1, lstm.input_size)).swapaxes(0, 1)
        episode_starts = episode_starts.reshape((n_seq, -1)).swapaxes(0, 1)
        if th.all(episode_starts == 0.0):
            lstm_output, lstm_states = lstm(features_sequence, lstm_states)
            return th.flatten(lstm_output.transpose(0, 1), start_dim=0, end_dim=1), lstm_states
        lstm_output = []
        for features, episode_start in zip(features_sequence, episode_starts):
            hidden, lstm_states = lstm(
                features.unsqueeze(dim=0),
                ((1.0 - episode_start).view(1, n_seq, 1) * lstm_states[0],
                 (1.0 - episode_start).view(1, n_seq, 1) * lstm_states[1]),
            )
            lstm_output += [hidden]
        return th.flatten(th.cat(lstm_output).transpose(0, 1), start_dim=0, end_dim=1), lstm_states

    def forward(self, obs, lstm_states, episode_starts, deterministic=False):
        latent_pi, lstm_states_pi = self._process_sequence(obs, lstm_states.pi, episode_starts, self.lstm_actor)
        latent_vf, lstm_states_vf = self._process_sequence(obs, lstm_states.vf, episode_starts, self.lstm_critic)
        values = self.value_net(latent_vf)
        distribution = th.distributions.Normal(self.action_net(latent_pi), self.log_std.exp())
        actions = distribution.mean if deterministic else distribution.rsample()
        log_prob = distribution.log_prob(actions).sum(-1)
        return actions, values, log_prob, RNNStates(lstm_states_pi, lstm_states_vf)


# %%
N_IMITATE = 2
expert_observations = th.randn(64, 6)
expert_actions = th.tanh(expert_observations[:, :1])
train_loader = DataLoader(TensorDataset(expert_observations, expert_actions), batch_size=16, shuffle=False)

student_policy = RecurrentActorCriticPolicy(obs_dim=6, action_dim=1)
single_hidden_state = th.zeros(1, 1, 16)
last_lstm_states = RNNStates(
    (single_hidden_state.clone(), single_hidden_state.clone()),
    (single_hidden_state.clone(), single_hidden_state.clone()),
)
criterion = nn.MSELoss()


def train(model, train_loader, optimizer, start_lstm_state):
    model.train()
    lstm_states = start_lstm_state
    episode_starts = th.ones(16)
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        action, _, _, lstm_states = model(data, lstm_states, episode_starts)
        action_prediction = action.double()
        episode_starts = th.zeros(16)

        loss = criterion(action_prediction.view(-1), target.double().view(-1))
        loss.backward(retain_graph=True)
        optimizer.step()
    print("Train loss:", loss.item())


# %%
optimizer = th.optim.Adadelta(student_policy.parameters(), lr=1.0)
for epoch in range(1, N_IMITATE + 1):
    train(student_policy, train_loader, optimizer, last_lstm_states)
