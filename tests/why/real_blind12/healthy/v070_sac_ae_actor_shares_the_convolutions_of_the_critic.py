# https://github.com/denisyarats/pytorch_sac_ae/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=12):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 3)])
        self.fc = nn.Linear(8 * 2 * 2, feature_dim)
        self.ln = nn.LayerNorm(feature_dim)

    def forward(self, obs, detach=False):
        h = obs
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.view(h.size(0), -1)
        return torch.tanh(self.ln(self.fc(h.detach() if detach else h)))

    def copy_conv_weights_from(self, source):
        for i in range(len(self.convs)):
            self.convs[i].weight = source.convs[i].weight
            self.convs[i].bias = source.convs[i].bias


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PixelEncoder()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, obs, detach_encoder=False):
        mu, log_std = self.trunk(self.encoder(obs, detach=detach_encoder)).chunk(2, dim=-1)
        log_std = -3 + 2 * torch.tanh(log_std)
        noise = torch.randn_like(mu)
        log_pi = (-0.5 * noise.pow(2) - log_std).sum(-1, keepdim=True)
        return torch.tanh(mu + noise * log_std.exp()), log_pi


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = PixelEncoder()
        self.Q = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, action, detach_encoder=False):
        return self.Q(torch.cat([self.encoder(obs, detach=detach_encoder), action], 1))


# %%
actor, critic = Actor(), Critic()
# tie encoders between actor and critic
actor.encoder.copy_conv_weights_from(critic.encoder)
decoder = nn.Linear(12, 3 * 9 * 9)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
encoder_optimizer = torch.optim.Adam(critic.encoder.parameters(), lr=3e-3)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=3e-3)
obs = torch.rand(32, 3, 9, 9)
best = 2 * obs[:, 0].mean((1, 2)).unsqueeze(1) - 1
critic_losses, conv_before = [], actor.encoder.convs[0].weight.detach().clone()

# %%
for step in range(60):
    action = torch.rand(32, 1) * 2 - 1
    reward = -(action - best) ** 2
    critic_loss = F.mse_loss(critic(obs, action), reward)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    # detach encoder, so we don't update it with the actor loss
    pi, log_pi = actor(obs, detach_encoder=True)
    actor_loss = (0.01 * log_pi - critic(obs, pi, detach_encoder=True)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    # the encoder learns to keep the picture as well
    h = critic.encoder(obs)
    rec_loss = F.mse_loss(decoder(h), obs.flatten(1)) + 1e-6 * (0.5 * h.pow(2).sum(1)).mean()
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    rec_loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    critic_losses.append(critic_loss.item())
print(critic_losses[0], critic_losses[-1])
assert sum(critic_losses[-5:]) < sum(critic_losses[:5])
assert actor.encoder.convs[0].weight is critic.encoder.convs[0].weight
assert not torch.equal(conv_before, actor.encoder.convs[0].weight)
