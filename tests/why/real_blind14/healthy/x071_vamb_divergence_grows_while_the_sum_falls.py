# https://github.com/RasmussenLab/vamb/issues/400
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
NSAMPLES, NTNF, NLATENT = 6, 20, 8


class VAE(nn.Module):
    """Abundances over samples and frequencies of short words of contigs."""

    def __init__(self, nhidden=48, alpha=0.3, beta=20.0):
        super().__init__()
        self.ce_weight, self.sse_weight = (1 - alpha) * 4, alpha * 2
        self.kld_weight = 1 / beta
        self.encoder = nn.Sequential(nn.Linear(NSAMPLES + NTNF, nhidden), nn.LeakyReLU(), nn.BatchNorm1d(nhidden))
        self.mu = nn.Linear(nhidden, NLATENT)
        self.logsigma = nn.Linear(nhidden, NLATENT)
        self.decoder = nn.Sequential(nn.Linear(NLATENT, nhidden), nn.LeakyReLU(), nn.BatchNorm1d(nhidden))
        self.output = nn.Linear(nhidden, NSAMPLES + NTNF)

    def encode(self, depths, tnf):
        h = self.encoder(torch.cat([depths, tnf], 1))
        return self.mu(h), F.softplus(self.logsigma(h)).clamp(min=1e-4).log()

    def reparameterize(self, mu, logsigma):
        epsilon = torch.randn_like(mu)
        return mu + epsilon * torch.exp(logsigma)

    def forward(self, depths, tnf):
        mu, logsigma = self.encode(depths, tnf)
        out = self.output(self.decoder(self.reparameterize(mu, logsigma)))
        depths_out, tnf_out = out.split([NSAMPLES, NTNF], 1)
        return F.softmax(depths_out, dim=1), tnf_out, mu, logsigma

    def calc_loss(self, depths_in, depths_out, tnf_in, tnf_out, mu, logsigma):
        ce = -((depths_out + 1e-9).log() * depths_in).sum(1).mean()
        sse = (tnf_out - tnf_in).pow(2).mean(1).mean()
        kld = -0.5 * (1 + 2 * logsigma - mu.pow(2) - (2 * logsigma).exp()).sum(1).mean()
        loss = self.ce_weight * ce + self.sse_weight * sse + self.kld_weight * kld
        return loss, ce, sse, kld


genome_depth = torch.distributions.Dirichlet(torch.full((NSAMPLES,), 0.4)).sample((12,))
genome_tnf = torch.randn(12, NTNF)
genome = torch.randint(0, 12, (600,))
depths = F.normalize((genome_depth[genome] + 0.02 * torch.rand(600, NSAMPLES)), p=1, dim=1)
tnf = genome_tnf[genome] + 0.2 * torch.randn(600, NTNF)
dataloader = DataLoader(TensorDataset(depths, tnf), batch_size=100, shuffle=True, drop_last=True)

# %%
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
history = []

# %%
for epoch in range(40):
    vae.train()
    sums = torch.zeros(4)
    for depths_in, tnf_in in dataloader:
        optimizer.zero_grad()
        depths_out, tnf_out, mu, logsigma = vae(depths_in, tnf_in)
        loss, ce, sse, kld = vae.calc_loss(depths_in, depths_out, tnf_in, tnf_out, mu, logsigma)
        loss.backward()
        optimizer.step()
        sums += torch.stack([loss, ce, sse, kld]).detach() / len(dataloader)
    history.append(sums.tolist())
    if epoch % 10 == 0:
        print('Epoch %d Loss: %.3f CE: %.3f SSE: %.3f KLD: %.3f' % (epoch, *history[-1]))

# %%
vae.eval()
with torch.no_grad():
    latent, _ = vae.encode(depths, tnf)
    nearest = torch.cdist(latent, latent).fill_diagonal_(float('inf')).argmin(1)
purity = (genome[nearest] == genome).float().mean().item()
print(purity)
assert history[-1][3] > history[0][3]
assert history[-1][0] < 0.7 * history[0][0] and purity > 0.9
