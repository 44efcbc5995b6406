# https://github.com/nv-tlabs/LION/issues/17
import torch
import torch.nn as nn

torch.manual_seed(0)


class PointVAE(nn.Module):
    def __init__(self, input_dim=3, latent_dim=4, style_dim=4):
        super().__init__()
        self.style_encoder = nn.Sequential(nn.Linear(input_dim, 32), nn.ReLU(), nn.Linear(32, 32))
        self.style_head = nn.Linear(32, 2 * style_dim)
        self.encoder = nn.Sequential(nn.Linear(input_dim + style_dim, 48), nn.ReLU(), nn.Linear(48, 2 * latent_dim))
        self.decoder = nn.Sequential(nn.Linear(latent_dim + style_dim, 48), nn.ReLU(), nn.Linear(48, input_dim))
        self.input_dim, self.skip_weight, self.log_sigma_offset = input_dim, 0.01, 6.0

    def sample(self, mu, log_sigma):
        return mu + torch.exp(log_sigma) * torch.randn_like(mu)

    def forward(self, x):
        n = x.shape[1]
        style_mu, style_log_sigma = self.style_head(self.style_encoder(x).max(1)[0]).chunk(2, -1)
        style = self.sample(style_mu, style_log_sigma - 1)
        per_point = style[:, None].expand(-1, n, -1)
        mu, log_sigma = self.encoder(torch.cat([x, per_point], -1)).chunk(2, -1)
        # in the beginning the latent points are the points themselves
        mu = self.skip_weight * mu + torch.cat([x, torch.zeros_like(mu[..., self.input_dim:])], -1)
        log_sigma = log_sigma - self.log_sigma_offset
        z = self.sample(mu, log_sigma)
        out = self.skip_weight * self.decoder(torch.cat([z, per_point], -1)) + z[..., :self.input_dim]
        return out, [(style_mu, style_log_sigma - 1), (mu, log_sigma)]


def kl_of(mu, log_sigma):
    return (0.5 * (mu ** 2 + torch.exp(2 * log_sigma) - 1) - log_sigma).flatten(1).sum(1).mean()


class Trainer:
    def __init__(self, model, num_total_iter, kl_min=1e-7, kl_max=0.5):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
        self.total, self.kl_min, self.kl_max = num_total_iter, kl_min, kl_max

    def kl_coeff(self, step):
        return max(min(self.kl_min + (self.kl_max - self.kl_min) * step / (0.5 * self.total), self.kl_max), self.kl_min)

    def train_iter(self, x, step):
        self.model.train()
        self.optimizer.zero_grad()
        output, latents = self.model(x)
        rec = (output - x).abs().flatten(1).sum(1).mean()
        kl = sum(kl_of(mu, log_sigma) for mu, log_sigma in latents)
        loss = rec + self.kl_coeff(step) * kl
        loss.backward()
        self.optimizer.step()
        return {'loss': loss.item(), 'rec': rec.item(), 'kl': kl.item()}


def shapes(n=16, points=24):
    sphere = nn.functional.normalize(torch.randn(n, points, 3), dim=-1)
    return sphere * (0.3 + torch.rand(n, 1, 3))


# %%
trainer = Trainer(PointVAE(), num_total_iter=300)
logs = [trainer.train_iter(shapes(), step) for step in range(300)]
for step in (0, 75, 150, 299):
    print(step, logs[step], trainer.kl_coeff(step))
assert logs[150]['loss'] > logs[0]['loss']  # the weight of the second term grows
assert logs[299]['kl'] < 0.6 * logs[0]['kl']
assert logs[299]['rec'] + 0.5 * logs[299]['kl'] < logs[0]['rec'] + 0.5 * logs[0]['kl']
