# https://github.com/astariul/encode-attend-navigate-pytorch/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def reward_fn(coords, tour):
    ordered = torch.gather(coords, 1, tour.unsqueeze(-1).repeat(1, 1, coords.size(-1)))
    return torch.sqrt(torch.square(ordered[:, 1:] - ordered[:, :-1]).sum(-1)).sum(-1)


class Agent(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.decoder = nn.Linear(2 * hidden, 1)
        self.critic = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        h = self.encoder(x)
        last, mask, log_probs, tour = h.mean(1), torch.zeros(x.shape[:2], dtype=torch.bool), 0, []
        for _ in range(x.size(1)):
            scores = self.decoder(torch.cat([h, last.unsqueeze(1).expand_as(h)], -1)).squeeze(-1)
            dist = torch.distributions.Categorical(logits=scores.masked_fill(mask, -1e9))
            city = dist.sample()
            log_probs = log_probs + dist.log_prob(city)
            mask = mask.scatter(1, city.unsqueeze(1), True)
            last = h[torch.arange(x.size(0)), city]
            tour.append(city)
        tour = torch.stack(tour + tour[:1], dim=1)
        critique = self.critic(x).squeeze(-1).mean(1)
        return tour, critique, log_probs


class Trainer():
    def __init__(self, agent):
        self.agent = agent
        self.optim = torch.optim.Adam(params=self.agent.parameters(), lr=0.001)

    def losses(self, data):
        # Forward pass
        tour, critique, log_probs = self.agent(data)
        reward = reward_fn(data, tour)
        # Compute losses for both actor (reinforce) and critic
        loss1 = ((reward - critique) * log_probs).mean()
        loss2 = F.mse_loss(reward, critique)
        return reward, loss1, loss2

    def train_step(self, data):
        self.optim.zero_grad()
        reward, loss1, loss2 = self.losses(data)
        loss = loss1 + loss2
        # Backward pass
        loss.backward()
        self.optim.step()
        return reward.mean(), loss1, loss2


# %%
agent = Agent()
trainer = Trainer(agent)
for step in range(3):
    reward, loss1, loss2 = trainer.train_step(torch.rand(16, 6, 2))
    print(step, reward.item(), loss1.item(), loss2.item())
