# https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/td3_continuous_action.py
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(1)


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3 + 1, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 16)
        self.fc_mu = nn.Linear(16, 1)
        self.register_buffer("action_scale", torch.tensor([2.0]))
        self.register_buffer("action_bias", torch.tensor([0.0]))

    def forward(self, x):
        x = torch.tanh(self.fc_mu(F.relu(self.fc1(x))))
        return x * self.action_scale + self.action_bias


gamma, tau, policy_noise, noise_clip, policy_frequency = 0.99, 0.005, 0.2, 0.5, 2
actor, target_actor = Actor(), Actor()
qf1, qf2, qf1_target, qf2_target = QNetwork(), QNetwork(), QNetwork(), QNetwork()
target_actor.load_state_dict(actor.state_dict())
qf1_target.load_state_dict(qf1.state_dict())
qf2_target.load_state_dict(qf2.state_dict())
q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=3e-4)
actor_optimizer = optim.Adam(list(actor.parameters()), lr=3e-4)
before = actor.fc1.weight.detach().clone()

# %%
obs = torch.randn(1, 3)
for global_step in range(4):
    with torch.no_grad():
        actions = actor(obs)
        actions += torch.normal(0, actor.action_scale * 0.1)
        actions = actions.cpu().numpy().clip(-2, 2)
    obs = torch.randn(1, 3)

    observations, next_observations = torch.randn(8, 3), torch.randn(8, 3)
    data_actions, rewards, dones = torch.randn(8, 1), torch.randn(8, 1), torch.zeros(8, 1)
    with torch.no_grad():
        clipped_noise = (torch.randn_like(data_actions) * policy_noise).clamp(
            -noise_clip, noise_clip
        )
        next_state_actions = (
            target_actor(next_observations) + clipped_noise * target_actor.action_scale
        ).clamp(-2, 2)
        qf1_next_target = qf1_target(next_observations, next_state_actions)
        qf2_next_target = qf2_target(next_observations, next_state_actions)
        min_qf_next_target = torch.min(qf1_next_target, qf2_next_target)
        next_q_value = rewards.flatten() + (1 - dones.flatten()) * gamma * min_qf_next_target.view(
            -1
        )

    qf1_a_values = qf1(observations, data_actions).view(-1)
    qf2_a_values = qf2(observations, data_actions).view(-1)
    qf1_loss = F.mse_loss(qf1_a_values, next_q_value)
    qf2_loss = F.mse_loss(qf2_a_values, next_q_value)
    qf_loss = qf1_loss + qf2_loss
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()

    if global_step % policy_frequency == 0:
        actor_loss = -qf1(observations, actor(observations)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for param, target_param in zip(actor.parameters(), target_actor.parameters()):
            target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
        for param, target_param in zip(qf1.parameters(), qf1_target.parameters()):
            target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
        for param, target_param in zip(qf2.parameters(), qf2_target.parameters()):
            target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
    print(global_step, qf1_a_values.mean().item(), qf_loss.item() / 2.0, actor_loss.item())
