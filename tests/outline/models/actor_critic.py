# Actor and critic on one trunk; the critic reads the trunk without training it
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, 4)
        self.v = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        f = self.trunk(obs)
        return self.pi(f), self.v(f.detach()).squeeze(-1)


model = ActorCritic()
opt = torch.optim.Adam(model.parameters())
obs, act, ret = torch.randn(16, 8), torch.randint(4, (16,)), torch.randn(16)
# %% the recorded cell
opt.zero_grad()
logits, value = model(obs)
adv = (ret - value).detach()
logp = F.log_softmax(logits, -1)[torch.arange(16), act]
policy_loss = -(adv * logp).mean()
value_loss = F.mse_loss(value, ret)
entropy = -(F.softmax(logits, -1) * F.log_softmax(logits, -1)).sum(-1).mean()
loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
loss.backward()
opt.step()
