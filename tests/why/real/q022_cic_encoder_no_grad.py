# https://github.com/rll-research/cic/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F


class CICAgent:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 8))
        self.cic = nn.Linear(16, 8)
        self.encoder_opt = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.cic_optimizer = torch.optim.Adam(self.cic.parameters(), lr=1e-3)

    def aug_and_encode(self, obs):
        return self.encoder(obs)

    def update_cic(self, obs, skill, next_obs):
        query = self.cic(torch.cat([obs, next_obs], 1))
        loss = F.mse_loss(query, skill)
        self.encoder_opt.zero_grad()
        self.cic_optimizer.zero_grad()
        loss.backward()
        self.cic_optimizer.step()
        self.encoder_opt.step()
        return loss

    def update(self, obs, next_obs, skill):
        with torch.no_grad():
            obs = self.aug_and_encode(obs)
            next_obs = self.aug_and_encode(next_obs)
        return self.update_cic(obs, skill, next_obs)


# %%
agent = CICAgent()
loss = agent.update(torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8), torch.randn(4, 8))

# %%
for name, p in agent.encoder.named_parameters():
    print(name, p.grad)
