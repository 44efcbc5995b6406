# https://github.com/MishaLaskin/curl/blob/master/curl_sac.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def tie_weights(src, trg):
    assert type(src) == type(trg)
    trg.weight = src.weight
    trg.bias = src.bias


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=8):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 4, 3, stride=2), nn.Conv2d(4, 4, 3, stride=1)])
        self.fc = nn.Linear(4 * 5 * 5, feature_dim)
        self.ln = nn.LayerNorm(feature_dim)

    def forward(self, obs, detach=False):
        h = obs
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.flatten(1)
        if detach:
            h = h.detach()
        return torch.tanh(self.ln(self.fc(h)))

    def copy_conv_weights_from(self, source):
        """Tie convolutional layers"""
        for i in range(2):
            tie_weights(src=source.convs[i], trg=self.convs[i])


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.trunk = PixelEncoder(), nn.Linear(8, 2)

    def forward(self, obs, detach_encoder=False):
        mu = self.trunk(self.encoder(obs, detach=detach_encoder))
        noise = torch.randn_like(mu)
        return torch.tanh(mu + noise), -0.5 * noise.pow(2).sum(1, keepdim=True)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.Q1, self.Q2 = PixelEncoder(), nn.Linear(10, 1), nn.Linear(10, 1)

    def forward(self, obs, action, detach_encoder=False):
        h = torch.cat([self.encoder(obs, detach=detach_encoder), action], 1)
        return self.Q1(h), self.Q2(h)


# %%
actor, critic = Actor(), Critic()
# tie encoders between actor and critic, and CURL and critic
actor.encoder.copy_conv_weights_from(critic.encoder)
alpha = torch.tensor(0.1)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

# %%
for step in range(3):
    obs, action, target_Q = torch.rand(8, 3, 16, 16), torch.rand(8, 2) * 2 - 1, torch.randn(8, 1)
    current_Q1, current_Q2 = critic(obs, action)
    critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    # detach encoder, so we don't update it with the actor loss
    pi, log_pi = actor(obs, detach_encoder=True)
    actor_Q1, actor_Q2 = critic(obs, pi, detach_encoder=True)
    actor_loss = (alpha.detach() * log_pi - torch.min(actor_Q1, actor_Q2)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    print(critic_loss.item(), actor_loss.item())
