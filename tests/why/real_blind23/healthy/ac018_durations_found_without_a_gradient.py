# https://github.com/huawei-noah/Speech-Backbones/issues/13
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class TextEncoder(nn.Module):
    def __init__(self, n_vocab, n_feats, channels=32):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, channels)
        self.prenet = nn.Sequential(nn.Conv1d(channels, channels, 3, padding=1), nn.ReLU())
        self.proj_m = nn.Conv1d(channels, n_feats, 1)
        self.proj_w = nn.Sequential(nn.Conv1d(channels, channels, 3, padding=1), nn.ReLU(), nn.Conv1d(channels, 1, 1))

    def forward(self, x):
        x = self.emb(x).transpose(1, 2)
        x = x + self.prenet(x)
        mu = self.proj_m(x)
        x_dp = torch.detach(x)
        return mu, self.proj_w(x_dp)


class Diffusion(nn.Module):
    def __init__(self, n_feats, dim=32, beta_min=0.05, beta_max=20.0):
        super().__init__()
        self.n_feats, self.beta_min, self.beta_max = n_feats, beta_min, beta_max
        self.time = nn.Linear(1, dim)
        self.inp = nn.Conv1d(2 * n_feats, dim, 3, padding=1)
        self.out = nn.Sequential(nn.SiLU(), nn.Conv1d(dim, dim, 3, padding=1), nn.SiLU(), nn.Conv1d(dim, n_feats, 1))

    def estimator(self, xt, mu, t):
        return self.out(self.inp(torch.cat([xt, mu], 1)) + self.time(t[:, None])[:, :, None])

    def compute_loss(self, x0, mu, offset=1e-5):
        t = torch.clamp(torch.rand(x0.shape[0]), offset, 1.0 - offset)
        cum_noise = (self.beta_min * t + 0.5 * (self.beta_max - self.beta_min) * t ** 2)[:, None, None]
        mean = x0 * torch.exp(-0.5 * cum_noise) + mu * (1.0 - torch.exp(-0.5 * cum_noise))
        variance = 1.0 - torch.exp(-cum_noise)
        z = torch.randn_like(x0, requires_grad=False)
        noise_estimation = self.estimator(mean + z * torch.sqrt(variance), mu, t)
        noise_estimation *= torch.sqrt(variance)
        return torch.sum((noise_estimation + z) ** 2) / (x0.shape[0] * x0.shape[2] * self.n_feats)


def maximum_path(value):
    b, t_x, t_y = value.shape
    v = torch.full((b, t_x), -1e9)
    v[:, 0] = 0.0
    came_from, path = [], torch.zeros_like(value)
    for j in range(t_y):
        moved = torch.cat([torch.full((b, 1), -1e9), v[:, :-1]], 1)
        came_from.append((moved > v) & (j > 0))
        v = (torch.maximum(moved, v) if j else v) + value[:, :, j]
    index = torch.full((b,), t_x - 1)
    for j in reversed(range(t_y)):
        path[torch.arange(b), index, j] = 1.0
        index = index - came_from[j][torch.arange(b), index].long()
    return path


class GradTTS(nn.Module):
    def __init__(self, n_vocab=10, n_feats=8):
        super().__init__()
        self.n_feats = n_feats
        self.encoder, self.decoder = TextEncoder(n_vocab, n_feats), Diffusion(n_feats)

    def compute_loss(self, x, y):
        mu_x, logw = self.encoder(x)
        with torch.no_grad():
            log_prior = -0.5 * ((mu_x[:, :, :, None] - y[:, :, None]) ** 2 + math.log(2 * math.pi)).sum(1)
            attn = maximum_path(log_prior).detach()
        logw_ = torch.log(1e-8 + torch.sum(attn.unsqueeze(1), -1))
        dur_loss = torch.sum((logw - logw_) ** 2) / x.numel()
        mu_y = torch.matmul(attn.transpose(1, 2), mu_x.transpose(1, 2)).transpose(1, 2)
        diff_loss = self.decoder.compute_loss(y, mu_y)
        prior_loss = torch.sum(0.5 * ((y - mu_y) ** 2 + math.log(2 * math.pi))) / y.numel()
        return dur_loss, prior_loss, diff_loss


# %%
sounds, lengths = 1.5 * torch.randn(10, 8), torch.tensor([2, 3, 4, 2, 3, 4, 2, 3, 4, 3])
texts = torch.stack([torch.randperm(10)[:5] for _ in range(200)])
texts = texts[lengths[texts].sum(1) == 15]
mels = torch.stack([torch.repeat_interleave(sounds[t], lengths[t], dim=0).T for t in texts])
mels = mels + 0.1 * torch.randn_like(mels)

# %%
model = GradTTS()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
log = []
for iteration in range(200):
    batch = torch.randint(0, len(texts), (16,))
    model.zero_grad()
    dur_loss, prior_loss, diff_loss = model.compute_loss(texts[batch], mels[batch])
    loss = sum([dur_loss, prior_loss, diff_loss])
    loss.backward()
    enc_grad_norm = torch.nn.utils.clip_grad_norm_(model.encoder.parameters(), max_norm=1)
    dec_grad_norm = torch.nn.utils.clip_grad_norm_(model.decoder.parameters(), max_norm=1)
    optimizer.step()
    log.append([dur_loss.item(), prior_loss.item(), diff_loss.item()])
early, late = torch.tensor(log[:10]).mean(0).tolist(), torch.tensor(log[-30:]).mean(0).tolist()
print(early, late)
