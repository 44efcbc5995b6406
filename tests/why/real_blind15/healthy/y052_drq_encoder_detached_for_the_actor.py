# https://github.com/denisyarats/drq/issues/2
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def tie_weights(src, trg):
    trg.weight, trg.bias = src.weight, src.bias


class Encoder(nn.Module):
    def __init__(self, feature_dim=16):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 8, 3, stride=2), nn.Conv2d(8, 8, 3)])
        self.head = nn.Sequential(nn.Linear(8 * 3 * 3, feature_dim), nn.LayerNorm(feature_dim))

    def forward(self, obs, detach=False):
        h = obs / 255.
        for conv in self.convs:
            h = F.relu(conv(h))
        h = h.flatten(1)
        if detach:
            h = h.detach()
        return torch.tanh(self.head(h))

    def copy_conv_weights_from(self, source):
        for mine, other in zip(self.convs, source.convs):
            tie_weights(src=other, trg=mine)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.trunk = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs, detach_encoder=False):
        return torch.tanh(self.trunk(self.encoder(obs, detach=detach_encoder)))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.Q = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs, action, detach_encoder=False):
        h = self.encoder(obs, detach=detach_encoder)
        return self.Q(torch.cat([h, action], dim=-1))


class Agent:
    def __init__(self, discount=0.5, tau=0.05):
        self.actor, self.critic = Actor(), Critic()
        self.critic_target = copy.deepcopy(self.critic)
        self.actor.encoder.copy_conv_weights_from(self.critic.encoder)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.discount, self.tau = discount, tau

    def update_critic(self, obs, action, reward, next_obs):
        with torch.no_grad():
            target_Q = reward + self.discount * self.critic_target(next_obs, self.actor(next_obs))
        critic_loss = F.mse_loss(self.critic(obs, action), target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        return critic_loss.item()

    def update_actor(self, obs):
        # the convolutions belong to both: only the critic moves them
        action = self.actor(obs, detach_encoder=True)
        actor_loss = -self.critic(obs, action, detach_encoder=True).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        conv_grads = [p.grad for p in self.actor.encoder.convs.parameters()]
        self.actor_optimizer.step()
        return conv_grads

    def update(self, batch, step):
        self.update_critic(*batch)
        grads = self.update_actor(batch[0]) if step % 2 == 0 else None
        with torch.no_grad():
            for p, target in zip(self.critic.parameters(), self.critic_target.parameters()):
                target.lerp_(p, self.tau)
        return grads


def observe(n):
    """A bright bar on twelve by twelve pixels; the right action is where it stands."""
    x = torch.randint(1, 11, (n,))
    obs = torch.zeros(n, 1, 12, 12)
    obs[torch.arange(n), :, :, x] = 255.
    return obs, (x.float().unsqueeze(1) - 5.5) / 5


# %%
agent = Agent()
conv_before = agent.critic.encoder.convs[0].weight.detach().clone()
conv_grads = []
for step in range(500):
    obs, place = observe(64)
    action = torch.rand(64, 1) * 2 - 1
    reward = -(action - place) ** 2
    grads = agent.update((obs, action, reward, observe(64)[0]), step)
    conv_grads += grads or []

# %%
obs, place = observe(256)
with torch.no_grad():
    error = (agent.actor(obs) - place).abs().mean().item()
print(error)
assert all(g is None for g in conv_grads)
assert agent.actor.encoder.convs[0].weight is agent.critic.encoder.convs[0].weight
assert not torch.equal(conv_before, agent.critic.encoder.convs[0].weight)
assert error < 0.15
