# https://discuss.pytorch.org/t/backward-does-not-work/168732
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

# %%
for episode in range(3):
    states = torch.randn(10, 4)
    returns = torch.rand(10).double() * 10
    values = critic(states).squeeze(-1).double()
    probs = torch.distributions.Categorical(logits=actor(states))
    actions = probs.sample()

    advantage = (returns - values).detach()
    actor_loss = -(probs.log_prob(actions) * advantage).sum()
    critic_loss = F.smooth_l1_loss(returns, values).sum()

    # Cast critic_loss to right datatype
    critic_loss = torch.tensor([critic_loss.item()]).to(dtype=torch.float32).requires_grad_(True)

    actor_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    actor_loss.backward()
    critic_loss.backward()
    actor_optimizer.step()
    critic_optimizer.step()
    print(episode, actor_loss.item(), critic_loss.item())
