# https://github.com/rail-berkeley/rlkit/pull/109
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


class ConcatMlp(nn.Module):
    def __init__(self, input_size, output_size, hidden=32):
        super().__init__()
        self.fc0, self.last_fc = nn.Linear(input_size, hidden), nn.Linear(hidden, output_size)
        self.fc1 = nn.Linear(hidden, hidden)

    def forward(self, *inputs):
        h = torch.relu(self.fc0(torch.cat(inputs, dim=1)))
        return self.last_fc(torch.relu(self.fc1(h)))


class SACTrainer:
    def __init__(self, discount=0.99, soft_target_tau=1e-2, lr=1e-3):
        self.policy, self.qf1, self.qf2 = ConcatMlp(4, 2), ConcatMlp(6, 1), ConcatMlp(6, 1)
        self.target_qf1, self.target_qf2 = copy.deepcopy(self.qf1), copy.deepcopy(self.qf2)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.qf1_optimizer = torch.optim.Adam(self.qf1.parameters(), lr=lr)
        self.qf2_optimizer = torch.optim.Adam(self.qf2.parameters(), lr=lr)
        self.qf_criterion = nn.MSELoss()
        self.discount, self.soft_target_tau = discount, soft_target_tau

    def train_from_torch(self, batch):
        rewards, terminals, obs, actions, next_obs = batch
        """
        Policy Loss
        """
        new_obs_actions = torch.tanh(self.policy(obs))
        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))
        policy_loss = -q_new_actions.mean()

        """
        QF Loss
        """
        q1_pred = self.qf1(obs, actions)
        q2_pred = self.qf2(obs, actions)
        new_next_actions = torch.tanh(self.policy(next_obs))
        target_q_values = torch.min(self.target_qf1(next_obs, new_next_actions), self.target_qf2(next_obs, new_next_actions))
        q_target = rewards + (1. - terminals) * self.discount * target_q_values
        qf1_loss = self.qf_criterion(q1_pred, q_target.detach())
        qf2_loss = self.qf_criterion(q2_pred, q_target.detach())

        """
        Update networks
        """
        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()

        for source, target in ((self.qf1, self.target_qf1), (self.qf2, self.target_qf2)):
            for t, s in zip(target.parameters(), source.parameters()):
                t.data.copy_(t.data * (1 - self.soft_target_tau) + s.data * self.soft_target_tau)
        return policy_loss.item(), qf1_loss.item()


# %%
trainer = SACTrainer()

# %%
for _ in range(2):
    batch = torch.randn(16, 1), torch.zeros(16, 1), torch.randn(16, 4), torch.rand(16, 2) * 2 - 1, torch.randn(16, 4)
    print(trainer.train_from_torch(batch))
