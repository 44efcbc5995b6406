# https://github.com/MishaLaskin/rad/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def tie_weights(src, trg):
    assert type(src) == type(trg)
    trg.weight = src.weight
    trg.bias = src.bias


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=16, num_filters=8):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, num_filters, 3, stride=2), nn.Conv2d(num_filters, num_filters, 3)])
        self.fc = nn.Linear(num_filters * 9, feature_dim)
        self.ln = nn.LayerNorm(feature_dim)

    def forward_conv(self, obs):
        for conv in self.convs:
            obs = torch.relu(conv(obs))
        return obs.reshape(obs.size(0), -1)

    def forward(self, obs, detach=False):
        h = self.forward_conv(obs)
        if detach:
            h = h.detach()
        return torch.tanh(self.ln(self.fc(h)))

    def copy_conv_weights_from(self, source):
        for i in range(len(self.convs)):
            tie_weights(src=source.convs[i], trg=self.convs[i])


class Actor(nn.Module):
    def __init__(self, hidden_dim=64):
        super().__init__()
        self.encoder = PixelEncoder()
        self.trunk = nn.Sequential(nn.Linear(16, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 2))

    def forward(self, obs, detach_encoder=False):
        mu, log_std = self.trunk(self.encoder(obs, detach=detach_encoder)).chunk(2, dim=-1)
        log_std = -3.5 + 1.5 * torch.tanh(log_std)
        noise = torch.randn_like(mu)
        pi = mu + noise * log_std.exp()
        log_pi = (-0.5 * noise.pow(2) - log_std).sum(-1, keepdim=True)
        mu, pi = torch.tanh(mu), torch.tanh(pi)
        log_pi = log_pi - torch.log(F.relu(1 - pi.pow(2)) + 1e-6).sum(-1, keepdim=True)
        return mu, pi, log_pi


class Critic(nn.Module):
    def __init__(self, hidden_dim=64):
        super().__init__()
        self.encoder = PixelEncoder()
        self.Q1 = nn.Sequential(nn.Linear(17, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))
        self.Q2 = nn.Sequential(nn.Linear(17, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, obs, action, detach_encoder=False):
        obs = self.encoder(obs, detach=detach_encoder)
        obs_action = torch.cat([obs, action], dim=1)
        return self.Q1(obs_action), self.Q2(obs_action)


def observe(n):
    """A bright column, and the place where it stands."""
    at = torch.randint(0, 11, (n,))
    obs = torch.zeros(n, 1, 11, 11)
    obs[torch.arange(n), :, :, at] = 1.0
    return obs + 0.1 * torch.randn_like(obs), (at.float().unsqueeze(1) - 5) / 6


# %%
actor, critic = Actor(), Critic()
actor.encoder.copy_conv_weights_from(critic.encoder)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3)
convs_by_actor, convs_first = [], [p.detach().clone() for p in critic.encoder.convs.parameters()]

# %%
for step in range(350):
    obs, place = observe(64)
    action = torch.rand(64, 1) * 2 - 1
    target_Q = -(action - place).pow(2)
    current_Q1, current_Q2 = critic(obs, action)
    critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    _, pi, log_pi = actor(obs, detach_encoder=True)
    actor_Q1, actor_Q2 = critic(obs, pi, detach_encoder=True)
    actor_loss = (0.002 * log_pi - torch.min(actor_Q1, actor_Q2)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    convs_by_actor += [p.grad for p in actor.encoder.convs.parameters()]
    actor_optimizer.step()

# %%
with torch.no_grad():
    obs, place = observe(300)
    error = (actor(obs)[0] - place).abs().mean().item()
convs_moved = all(not torch.equal(a, b) for a, b in zip(convs_first, critic.encoder.convs.parameters()))
print(critic_loss.item(), error, convs_moved, sum(g is not None for g in convs_by_actor))
assert all(g is None for g in convs_by_actor) and convs_moved
assert error < 0.15
