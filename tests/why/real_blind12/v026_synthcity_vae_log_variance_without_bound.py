# https://github.com/vanderschaarlab/synthcity/issues/331
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Encoder(nn.Module):
    def __init__(self, n_features, n_hidden, n_latent):
        super(Encoder, self).__init__()
        self.shared = nn.Sequential(nn.Linear(n_features, n_hidden), nn.LeakyReLU())
        self.mu_fc = nn.Linear(n_hidden, n_latent)
        self.logvar_fc = nn.Linear(n_hidden, n_latent)

    def forward(self, X):
        shared = self.shared(X)
        mu = self.mu_fc(shared)
        logvar = self.logvar_fc(shared)
        return mu, logvar


class VAE(nn.Module):
    def __init__(self, n_features, n_hidden=32, n_latent=4, lr=1e-3):
        super().__init__()
        self.encoder = Encoder(n_features, n_hidden, n_latent)
        self.decoder = nn.Sequential(nn.Linear(n_latent, n_hidden), nn.LeakyReLU(), nn.Linear(n_hidden, n_features))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def _reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps * std + mu

    def _loss_function(self, reconstructed, real, mu, logvar):
        reconstruction_loss = nn.functional.mse_loss(reconstructed, real)
        KLD_loss = -0.5 * torch.mean(torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1))
        return reconstruction_loss + KLD_loss

    def fit(self, X, n_iter, batch_size=50):
        for epoch in range(n_iter):
            for i in range(0, len(X), batch_size):
                real = X[i:i + batch_size]
                mu, logvar = self.encoder(real)
                embedding = self._reparameterize(mu, logvar)
                reconstructed = self.decoder(embedding)
                loss = self._loss_function(reconstructed, real, mu, logvar)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())
        return loss


# %%
# a table with columns of very different sizes (an income, an age, ...)
table = np.stack([np.random.lognormal(8, 1.5, 200), np.random.uniform(18, 90, 200), np.random.randn(200)], axis=1)
X = torch.tensor(table, dtype=torch.float32)
model = VAE(n_features=3)
loss = model.fit(X, n_iter=5)
