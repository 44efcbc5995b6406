# https://github.com/AntixK/PyTorch-VAE/issues/69
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class VanillaVAE(nn.Module):
    def __init__(self, in_channels=1, latent_dim=4):
        super(VanillaVAE, self).__init__()
        self.encoder = nn.Sequential(nn.Conv2d(in_channels, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU())
        self.fc_mu = nn.Linear(8 * 16, latent_dim)
        self.fc_var = nn.Linear(8 * 16, latent_dim)
        self.decoder_input = nn.Linear(latent_dim, 8 * 16)
        self.final_layer = nn.Sequential(nn.ConvTranspose2d(8, in_channels, 3, 2, 1, 1), nn.Tanh())

    def encode(self, input):
        result = torch.flatten(self.encoder(input), start_dim=1)
        return [self.fc_mu(result), self.fc_var(result)]

    def decode(self, z):
        return self.final_layer(self.decoder_input(z).view(-1, 8, 4, 4))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps * std + mu

    def forward(self, input):
        mu, log_var = self.encode(input)
        z = self.reparameterize(mu, log_var)
        return [self.decode(z), input, mu, log_var]

    def loss_function(self, *args, **kwargs):
        recons, input, mu, log_var = args
        kld_weight = kwargs['M_N']
        recons_loss = F.mse_loss(recons, input)
        kld_loss = torch.mean(-0.5 * torch.sum(1 + log_var - mu ** 2 - log_var.exp(), dim = 1), dim = 0)
        loss = recons_loss + kld_weight * kld_loss
        return {'loss': loss, 'Reconstruction_Loss':recons_loss.detach(), 'KLD':-kld_loss.detach()}


# %%
model = VanillaVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
batch = torch.rand(16, 1, 8, 8) * 2 - 1
for epoch in range(5):
    results = model(batch)
    train_loss = model.loss_function(*results, M_N=0.00025)
    optimizer.zero_grad()
    train_loss['loss'].backward()
    optimizer.step()
    scheduler.step()
    print({key: val.item() for key, val in train_loss.items()})
