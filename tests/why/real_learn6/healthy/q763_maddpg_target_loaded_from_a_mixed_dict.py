# https://github.com/philtabor/Multi-Agent-Deep-Deterministic-Policy-Gradients/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CriticNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.q = nn.Linear(6, 16), nn.Linear(16, 1)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)

    def forward(self, state_action):
        return self.q(F.relu(self.fc1(state_action)))


class Agent:
    def __init__(self, tau=0.01):
        self.tau = tau
        self.critic, self.target_critic = CriticNetwork(), CriticNetwork()
        self.update_network_parameters(tau=1)

    def update_network_parameters(self, tau=None):
        if tau is None:
            tau = self.tau
        target_critic_params = self.target_critic.named_parameters()
        critic_params = self.critic.named_parameters()
        target_critic_state_dict = dict(target_critic_params)
        critic_state_dict = dict(critic_params)
        for name in critic_state_dict:
            critic_state_dict[name] = tau * critic_state_dict[name].clone() + (1 - tau) * target_critic_state_dict[name].clone()
        self.target_critic.load_state_dict(critic_state_dict)

    def learn(self, sa, reward, next_sa):
        with torch.no_grad():
            target = reward + 0.95 * self.target_critic(next_sa)
        critic_loss = F.mse_loss(self.critic(sa), target)
        self.critic.optimizer.zero_grad()
        critic_loss.backward()
        self.critic.optimizer.step()
        self.update_network_parameters()
        return critic_loss


# %%
agent = Agent()

# %%
for _ in range(4):
    critic_loss = agent.learn(torch.randn(8, 6), torch.randn(8, 1), torch.randn(8, 6))
    print(critic_loss.item())
