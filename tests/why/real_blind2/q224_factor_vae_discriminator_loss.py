# https://github.com/YannDubs/disentangling-vae/issues/77
import torch
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, latent_dim=5):
        super(VAE, self).__init__()
        self.latent_dim = latent_dim
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, latent_dim * 2))
        self.decoder = nn.Sequential(nn.Linear(latent_dim, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def reparameterize(self, mean, logvar):
        if self.training:
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mean + std * eps
        else:
            return mean

    def forward(self, x):
        latent_dist = self.encoder(x).view(-1, self.latent_dim, 2).unbind(-1)
        latent_sample = self.reparameterize(*latent_dist)
        reconstruct = self.decoder(latent_sample)
        return reconstruct, latent_dist, latent_sample

    def sample_latent(self, x):
        latent_dist = self.encoder(x).view(-1, self.latent_dim, 2).unbind(-1)
        return self.reparameterize(*latent_dist)


class Discriminator(nn.Module):
    def __init__(self, neg_slope=0.2, latent_dim=5, hidden_units=24):
        super(Discriminator, self).__init__()
        self.leaky_relu = nn.LeakyReLU(neg_slope, False)
        self.lin1 = nn.Linear(latent_dim, hidden_units)
        self.lin2 = nn.Linear(hidden_units, hidden_units)
        self.lin3 = nn.Linear(hidden_units, 2)

    def forward(self, z):
        z = self.leaky_relu(self.lin1(z))
        z = self.leaky_relu(self.lin2(z))
        return self.lin3(z)


def _permute_dims(latent_sample):
    perm = torch.zeros_like(latent_sample)
    batch_size, dim_z = perm.size()
    for z in range(dim_z):
        pi = torch.randperm(batch_size)
        perm[:, z] = latent_sample[pi, z]
    return perm


# %%
class FactorKLoss:
    def __init__(self, device, gamma=10.0):
        self.device = device
        self.gamma = gamma
        self.discriminator = Discriminator().to(self.device)
        self.optimizer_d = optim.Adam(self.discriminator.parameters(), lr=5e-5, betas=(0.5, 0.9))

    def call_optimize(self, data, model, optimizer, storer):
        # factor-vae split data into two batches. In the paper they sample 2 batches
        batch_size = data.size(dim=0)
        half_batch_size = batch_size // 2
        data = data.split(half_batch_size)
        data1 = data[0]
        data2 = data[1]

        # Factor VAE Loss
        recon_batch, latent_dist, latent_sample1 = model(data1)
        rec_loss = F.binary_cross_entropy(recon_batch, data1, reduction='sum') / half_batch_size
        mean, logvar = latent_dist
        kl_loss = (0.5 * (-1 - logvar + mean.pow(2) + logvar.exp())).mean(dim=0).sum()

        d_z = self.discriminator(latent_sample1)
        # We want log(p_true/p_false)
        tc_loss = (d_z[:, 0] - d_z[:, 1]).mean()
        vae_loss = rec_loss + kl_loss + self.gamma * tc_loss

        # Compute VAE gradients
        optimizer.zero_grad()
        vae_loss.backward(retain_graph=True)
        storer['encoder_grad'] = model.encoder[0].weight.grad.clone()

        # Discriminator Loss
        # Get second sample of latent distribution
        latent_sample2 = model.sample_latent(data2)
        z_perm = _permute_dims(latent_sample2).detach()
        d_z_perm = self.discriminator(z_perm)

        # Calculate total correlation loss
        # for cross entropy the target is the index => need to be long and says
        # that it's first output for d_z and second for perm
        ones = torch.ones(half_batch_size, dtype=torch.long, device=self.device)
        zeros = torch.zeros_like(ones)
        d_tc_loss = 0.5 * (F.cross_entropy(d_z, zeros) + F.cross_entropy(d_z_perm, ones))

        # Compute discriminator gradients
        self.optimizer_d.zero_grad()
        d_tc_loss.backward()

        # Update at the end (since pytorch 1.5. complains if update before)
        optimizer.step()
        self.optimizer_d.step()

        storer['discrim_loss'] = d_tc_loss.item()
        return vae_loss


# %%
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=5e-4)
loss_f = FactorKLoss(torch.device('cpu'))
storer = {}
for iteration in range(2):
    data = torch.rand(16, 64).round()
    iter_loss = loss_f.call_optimize(data, model, optimizer, storer)
    print(iter_loss.item(), storer['discrim_loss'])

# %%
print((model.encoder[0].weight.grad - storer['encoder_grad']).abs().max())
