# https://github.com/andri27-ts/Reinforcement-Learning/issues/14
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
np.random.seed(0)


class DQN(nn.Module):
    def __init__(self, input_shape, n_actions):
        super(DQN, self).__init__()
        self.fc = nn.Sequential(nn.Linear(input_shape, 16), nn.ReLU(), nn.Linear(16, n_actions))

    def forward(self, x):
        return self.fc(x.float())


class CentralControl():

    def __init__(self, observation_space_shape, action_space_shape, gamma, n_multi_step, double_DQN, device):
        self.target_nn = DQN(observation_space_shape, action_space_shape).to(device)
        self.moving_nn = DQN(observation_space_shape, action_space_shape).to(device)
        self.device = device
        self.gamma = gamma
        self.n_multi_step = n_multi_step
        self.double_DQN = double_DQN

    def set_optimizer(self, learning_rate):
        self.optimizer = optim.Adam(self.moving_nn.parameters(), lr=learning_rate)

    def optimize(self, mini_batch):
        # reset the grads
        self.optimizer.zero_grad()
        # caluclate the loss of the mini batch
        loss = self._calulate_loss(mini_batch)
        loss_v = loss.item()
        # do backpropagation
        loss.backward()
        # one step of optimization
        self.optimizer.step()
        return loss_v

    def update_target(self):
        """Copy the moving NN in the target NN"""
        self.target_nn.load_state_dict(self.moving_nn.state_dict())
        self.target_nn = self.moving_nn

    def _calulate_loss(self, mini_batch):
        states, actions, next_states, rewards, dones = mini_batch
        states_t = torch.as_tensor(states, device=self.device)
        next_states_t = torch.as_tensor(next_states, device=self.device)
        actions_t = torch.as_tensor(actions, device=self.device)
        rewards_t = torch.as_tensor(rewards, dtype=torch.float32, device=self.device)

        # Value of the action taken previously (recorded in actions_v) in the state_t
        state_action_values = self.moving_nn(states_t).gather(1, actions_t[:, None]).squeeze(-1)

        if self.double_DQN:
            double_max_action = self.moving_nn(next_states_t).max(1)[1]
            double_max_action = double_max_action.detach()
            target_output = self.target_nn(next_states_t)
            next_state_values = torch.gather(target_output, 1, double_max_action[:, None]).squeeze(-1)
        else:
            next_state_values = self.target_nn(next_states_t).max(1)[0]
        next_state_values = next_state_values.detach()  # No backprop

        # Use the Bellman equation
        expected_state_action_values = rewards_t + (self.gamma**self.n_multi_step) * next_state_values
        return nn.MSELoss()(state_action_values, expected_state_action_values)


# %%
cc = CentralControl(4, 3, gamma=0.99, n_multi_step=2, double_DQN=True, device='cpu')
cc.set_optimizer(1e-3)
for n_iter in range(1, 9):
    batch = (np.random.randn(16, 4), np.random.randint(3, size=16), np.random.randn(16, 4), np.random.randn(16), np.zeros(16))
    loss = cc.optimize(batch)
    if n_iter % 4 == 0:
        cc.update_target()
        print(n_iter, loss)
