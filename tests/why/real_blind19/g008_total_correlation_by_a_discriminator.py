# https://github.com/YannDubs/disentangling-vae/issues/62
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, n_pixels, latent_dim, hidden_dim=64):
        super(VAE, self).__init__()
        self.latent_dim = latent_dim
        self.encoder = nn.Sequential(nn.Linear(n_pixels, hidden_dim), nn.ReLU(),
                                     nn.Linear(hidden_dim, 256), nn.ReLU(), nn.Linear(256, 2 * latent_dim))
        self.decoder = nn.Sequential(nn.Linear(latent_dim, hidden_dim), nn.ReLU(),
                                     nn.Linear(hidden_dim, n_pixels), nn.Sigmoid())

    def reparameterize(self, mean, logvar):
        if self.training:
            return mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return mean

    def forward(self, x):
        latent_dist = self.encoder(x).chunk(2, dim=-1)
        latent_sample = self.reparameterize(*latent_dist)
        return self.decoder(latent_sample), latent_dist, latent_sample

    def sample_latent(self, x):
        return self.reparameterize(*self.encoder(x).chunk(2, dim=-1))


class Discriminator(nn.Module):
    def __init__(self, latent_dim=10, hidden_units=64):
        super(Discriminator, self).__init__()
        self.lin1 = nn.Linear(latent_dim, hidden_units)
        self.lin2 = nn.Linear(hidden_units, hidden_units)
        self.lin3 = nn.Linear(hidden_units, 2)

    def forward(self, z):
        z = F.leaky_relu(self.lin1(z), 0.2)
        z = F.leaky_relu(self.lin2(z), 0.2)
        return self.lin3(z)


def _permute_dims(latent_sample):
    perm = torch.zeros_like(latent_sample)
    for z in range(latent_sample.size(1)):
        perm[:, z] = latent_sample[torch.randperm(latent_sample.size(0)), z]
    return perm


class FactorKLoss:
    def __init__(self, gamma=10., latent_dim=10):
        self.gamma = gamma
        self.discriminator = Discriminator(latent_dim)
        self.optimizer_d = optim.Adam(self.discriminator.parameters(), lr=5e-5, betas=(0.5, 0.9))

    def call_optimize(self, data, model, optimizer):
        half_batch_size = data.size(0) // 2
        data1, data2 = data.split(half_batch_size)

        # Factor VAE Loss
        recon_batch, (mean, logvar), latent_sample1 = model(data1)
        rec_loss = F.binary_cross_entropy(recon_batch, data1, reduction="sum") / half_batch_size
        kl_loss = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
        d_z = self.discriminator(latent_sample1)
        tc_loss = (d_z[:, 0] - d_z[:, 1]).mean()
        vae_loss = rec_loss + kl_loss + self.gamma * tc_loss

        # Run VAE optimizer
        optimizer.zero_grad()
        vae_loss.backward(retain_graph=True)
        optimizer.step()

        # Discriminator Loss
        latent_sample2 = model.sample_latent(data2)
        d_z_perm = self.discriminator(_permute_dims(latent_sample2).detach())
        ones = torch.ones(half_batch_size, dtype=torch.long)
        zeros = torch.zeros_like(ones)
        d_tc_loss = 0.5 * (F.cross_entropy(d_z, zeros) + F.cross_entropy(d_z_perm, ones))

        # Run discriminator optimizer
        self.optimizer_d.zero_grad()
        d_tc_loss.backward()
        self.optimizer_d.step()
        return vae_loss


# %%
model = VAE(n_pixels=144, latent_dim=10)
optimizer = optim.Adam(model.parameters(), lr=1e-4)
loss_f = FactorKLoss(latent_dim=10)
model.train()

# %%
for epoch in range(3):
    loss = loss_f.call_optimize(torch.rand(64, 144), model, optimizer)
    print("Epoch: {} Average loss per image: {:.2f}".format(epoch + 1, loss.item()))
