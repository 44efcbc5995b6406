import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, obs=8, act=4, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.policy = nn.Linear(hidden, act)
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def rollout(net, n=32):
    obs = torch.randn(n, 8)
    with torch.no_grad():
        dist, value = net(obs)
        action = dist.sample()
        logp = dist.log_prob(action)
    reward = torch.randn(n)
    returns = torch.zeros(n)
    run = 0.0
    for t in reversed(range(n)):
        run = reward[t] + 0.99 * run
        returns[t] = run
    return obs, action, logp, returns, returns - value


net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
# %% the recorded cell
obs, action, old_logp, returns, adv = rollout(net)
for _epoch in range(2):
    for idx in torch.randperm(32).split(16):
        dist, value = net(obs[idx])
        a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
        ratio = (dist.log_prob(action[idx]) - old_logp[idx]).exp()
        pg_loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        v_loss = 0.5 * (returns[idx] - value).pow(2).mean()
        entropy = dist.entropy().mean()
        loss = pg_loss + 0.5 * v_loss - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
