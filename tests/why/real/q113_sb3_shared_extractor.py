# https://github.com/DLR-RM/stable-baselines3/issues/135
import torch
from torch import nn


class ContinuousCritic(nn.Module):
    def __init__(self, features_extractor):
        super().__init__()
        self.features_extractor = features_extractor
        self.q_networks = nn.Linear(8, 1)

    def forward(self, obs):
        return self.q_networks(torch.relu(self.features_extractor(obs)))


def make_features_extractor():
    return nn.Linear(4, 8)


# %%
features_extractor = make_features_extractor()
critic = ContinuousCritic(features_extractor)
critic_target = ContinuousCritic(features_extractor)
critic_target.load_state_dict(critic.state_dict())
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)

# %%
obs = torch.randn(16, 4)
before = critic_target(obs).detach()
loss = nn.functional.mse_loss(critic(obs), torch.randn(16, 1))
optimizer.zero_grad()
loss.backward()
optimizer.step()
print((critic_target(obs) - before).abs().max())
