# https://github.com/MishaLaskin/curl/issues/12
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


def soft_update_params(net, target_net, tau):
    for param, target_param in zip(net.parameters(), target_net.parameters()):
        target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=8):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 3, stride=1)])
        self.fc = nn.Linear(8 * 25, feature_dim)
        self.ln = nn.LayerNorm(feature_dim)

    def forward(self, obs, detach=False):
        h = obs
        for conv in self.convs:
            h = torch.relu(conv(h))
        h = h.view(h.size(0), -1)
        if detach:
            h = h.detach()
        return self.ln(self.fc(h))


class CURLNet(nn.Module):
    def __init__(self, z_dim, encoder, encoder_target):
        super().__init__()
        self.encoder = encoder
        self.encoder_target = encoder_target
        self.W = nn.Parameter(torch.rand(z_dim, z_dim))

    def encode(self, x, detach=False, ema=False):
        """
        Encoder: z_t = e(x_t)
        :param x: x_t, x y coordinates
        :return: z_t, value in r2
        """
        if ema:
            with torch.no_grad():
                z_out = self.encoder_target(x)
        else:
            z_out = self.encoder(x)
        if detach:
            z_out = z_out.detach()
        return z_out

    def compute_logits(self, z_a, z_pos):
        """Uses logits trick for CURL: bilinear product, minus the maximum for stability"""
        Wz = torch.matmul(self.W, z_pos.T)  # (z_dim,B)
        logits = torch.matmul(z_a, Wz)  # (B,B)
        logits = logits - torch.max(logits, 1)[0][:, None]
        return logits


# %%
encoder = PixelEncoder()
CURL = CURLNet(8, encoder, copy.deepcopy(encoder))
encoder_optimizer = torch.optim.Adam(CURL.encoder.parameters(), lr=1e-3)
cpc_optimizer = torch.optim.Adam(CURL.parameters(), lr=1e-3)
cross_entropy_loss = nn.CrossEntropyLoss()

for step in range(3):
    frames = torch.rand(8, 3, 16, 16)
    obs_anchor, obs_pos = frames + 0.05 * torch.randn_like(frames), frames
    z_a = CURL.encode(obs_anchor)
    z_pos = CURL.encode(obs_pos, ema=True)

    logits = CURL.compute_logits(z_a, z_pos)
    labels = torch.arange(logits.shape[0]).long()
    loss = cross_entropy_loss(logits, labels)

    encoder_optimizer.zero_grad()
    cpc_optimizer.zero_grad()
    loss.backward()
    encoder_optimizer.step()
    cpc_optimizer.step()
    soft_update_params(CURL.encoder, CURL.encoder_target, 0.05)
    print('train/curl_loss', loss.item(), step)
