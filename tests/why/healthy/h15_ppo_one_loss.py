# Policy, value and entropy in one loss, over one trunk.
import torch
from torch import nn

trunk, pi, v = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
parameters = [*trunk.parameters(), *pi.parameters(), *v.parameters()]
optimizer = torch.optim.Adam(parameters)
x, a, ret, old = torch.randn(16, 4), torch.randint(0, 2, (16,)), torch.randn(16), torch.full((16,), -0.7)
h = torch.tanh(trunk(x))
p = torch.distributions.Categorical(logits=pi(h))
value = v(h).squeeze(-1)
advantage = ret - value.detach()
ratio = (p.log_prob(a) - old).exp()
loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
loss = loss + 0.5 * (value - ret).pow(2).mean() - 0.01 * p.entropy().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert all(p.grad is not None for p in parameters)
