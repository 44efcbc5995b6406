# Sixteen minibatches of a clipped policy gradient; the critic reads the trunk without training it
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, 3)
        self.v = nn.Linear(64, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return Categorical(logits=self.pi(h)), self.v(h.detach()).squeeze(-1)


model = ActorCritic()
opt = torch.optim.Adam(model.parameters(), 3e-4)
obs = torch.randn(32, 8)
with torch.no_grad():
    policy, value = model(obs)
    action = policy.sample()
    old = policy.log_prob(action)
    returns = torch.randn(32)
    advantage = returns - value
# %% the recorded cell
for _epoch in range(4):
    for some in torch.randperm(32).split(8):
        policy, value = model(obs[some])
        ratio = (policy.log_prob(action[some]) - old[some]).exp()
        a = advantage[some]
        gain = torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        error = (value - returns[some]).pow(2).mean()
        entropy = policy.entropy().mean()
        loss = -gain + 0.5 * error - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
