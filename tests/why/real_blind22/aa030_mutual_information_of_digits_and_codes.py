# https://github.com/AliLotfi92/InfoMaxVAE/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Discriminator(nn.Module):
    def __init__(self, z_dim=2):
        super(Discriminator, self).__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(
            nn.Linear(784 + z_dim, 100),
            nn.ReLU(True),
            nn.Linear(100, 40),
            nn.ReLU(True),
            nn.Linear(40, 1),
        )

    def forward(self, x, z):
        x = torch.cat((x.view(-1, 784), z), 1)
        return self.net(x).squeeze()


class VAE1(nn.Module):

    def __init__(self, z_dim=2):
        super(VAE1, self).__init__()
        self.z_dim = z_dim
        self.encode = nn.Sequential(
            nn.Linear(784, 100),
            nn.ReLU(True),
            nn.Linear(100, 100),
            nn.ReLU(True),
            nn.Linear(100, 2 * z_dim),
        )
        self.decode = nn.Sequential(
            nn.Linear(z_dim, 100),
            nn.ReLU(True),
            nn.Linear(100, 784),
            nn.Sigmoid(),
        )

    def reparametrize(self, mu, logvar):
        std = logvar.mul(0.5).exp_()
        eps = std.data.new(std.size()).normal_()
        return eps.mul(std).add_(mu)

    def forward(self, x):
        stats = self.encode(x.view(-1, 784))
        mu = stats[:, :self.z_dim]
        logvar = stats[:, self.z_dim:]
        z = self.reparametrize(mu, logvar)
        x_recon = self.decode(z).view(x.size())
        return x_recon, mu, logvar, z.squeeze()


def recon_loss(x_recon, x):
    return F.binary_cross_entropy(x_recon, x, reduction='sum').div(x.size(0))


def kl_divergence(mu, logvar):
    return -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()


def permute_dims(z):
    return z[torch.randperm(z.size(0))]


# %%
max_iter = 1
batch_size = 50
z_dim = 4
gamma = 10
training_set = TensorDataset(torch.rand(200, 1, 28, 28), torch.randint(0, 10, (200,)))
data_loader = DataLoader(training_set, batch_size=batch_size, shuffle=True)

VAE = VAE1(z_dim)
D = Discriminator(z_dim)
optim_VAE = optim.Adam(VAE.parameters(), lr=0.0001, betas=(0.9, 0.999))
optim_D = optim.Adam(D.parameters(), lr=0.00001, betas=(0.9, 0.999))

# %%
for epoch in range(max_iter):
    train_loss, train_info_loss = 0, 0

    for batch_idx, (x_true, _) in enumerate(data_loader):
        x_recon, mu, logvar, z = VAE(x_true)

        D_xz = D(x_true, z)
        z_perm = permute_dims(z)
        D_x_z = D(x_true, z_perm)

        Info_xz = -(D_xz.mean() - (torch.exp(D_x_z - 1).mean()))

        vae_recon_loss = recon_loss(x_recon, x_true)
        vae_kld = kl_divergence(mu, logvar)

        vae_loss = vae_recon_loss + vae_kld + gamma * Info_xz

        optim_VAE.zero_grad()
        vae_loss.backward(retain_graph=True)
        optim_VAE.step()

        info_loss = Info_xz
        train_loss += vae_loss.item()
        train_info_loss += -info_loss.item()

        optim_D.zero_grad()
        info_loss.backward()
        optim_D.step()
