# https://github.com/Farama-Foundation/Gymnasium/issues/1336
import torch
import torch.nn as nn
from torch.distributions.normal import Normal

torch.manual_seed(0)


class Policy_Network(nn.Module):
    def __init__(self, obs_space_dims, action_space_dims):
        super().__init__()
        self.shared_net = nn.Sequential(nn.Linear(obs_space_dims, 16), nn.Tanh(), nn.Linear(16, 32), nn.Tanh())
        self.policy_mean_net = nn.Linear(32, action_space_dims)
        self.policy_stddev_net = nn.Linear(32, action_space_dims)

    def forward(self, x):
        shared_features = self.shared_net(x.float())
        action_means = self.policy_mean_net(shared_features)
        action_stddevs = torch.log(1 + torch.exp(self.policy_stddev_net(shared_features)))
        return action_means, action_stddevs


class REINFORCE:
    def __init__(self, obs_space_dims, action_space_dims):
        self.gamma, self.eps = 0.99, 1e-6
        self.probs, self.rewards = [], []
        self.net = Policy_Network(obs_space_dims, action_space_dims)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-4)

    def sample_action(self, state):
        action_means, action_stddevs = self.net(state)
        distrib = Normal(action_means[0] + self.eps, action_stddevs[0] + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action))
        return action.numpy()

    def update(self):
        """Updates the policy network's weights."""
        running_g = 0
        gs = []
        # Discounted return (backwards)
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)
        deltas = torch.tensor(gs)

        log_probs = torch.stack(self.probs).squeeze()
        # Calculate the mean of log probabilities for all actions in the episode
        log_prob_mean = log_probs.mean()
        # Update the loss with the mean log probability and deltas
        loss = -torch.sum(log_prob_mean * deltas)

        # Update the policy network
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss, deltas


agent = REINFORCE(4, 1)

# %%
for t in range(20):
    obs = torch.randn(1, 4)
    action = agent.sample_action(obs)
    agent.rewards.append(float(action[0]) if t % 2 else 1.0)

# %%
loss, deltas = agent.update()
print(loss.item())
