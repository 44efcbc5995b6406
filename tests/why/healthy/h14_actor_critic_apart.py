# Actor and critic with losses of their own; the advantage is detached.
import torch
import torch.nn.functional as F
from torch import nn

actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
opt_a = torch.optim.Adam(actor.parameters())
opt_c = torch.optim.Adam(critic.parameters())
states, returns, actions = torch.randn(16, 4), torch.randn(16), torch.randint(0, 2, (16,))
values = critic(states).squeeze(-1)
advantage = (returns - values).detach()
log_p = F.log_softmax(actor(states), dim=-1).gather(1, actions[:, None]).squeeze(-1)
policy_loss = -(log_p * advantage).mean()
value_loss = F.mse_loss(values, returns)
opt_a.zero_grad()
policy_loss.backward()
opt_a.step()
opt_c.zero_grad()
value_loss.backward()
opt_c.step()
assert actor.weight.grad is not None and critic.weight.grad is not None
