# https://github.com/yuval-alaluf/restyle-encoder/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class pSp(nn.Module):
    def __init__(self, dim=16, latent_dim=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2 * dim, 24), nn.LeakyReLU(), nn.Linear(24, latent_dim))
        self.decoder = nn.Sequential(nn.Linear(latent_dim, 24), nn.Tanh(), nn.Linear(24, dim))
        self.register_buffer("latent_avg", torch.randn(latent_dim))

    def forward(self, x, latent=None):
        codes = self.encoder(x)
        codes = codes + (self.latent_avg if latent is None else latent)
        return self.decoder(codes), codes


class Coach:
    def __init__(self, n_iters_per_batch=3):
        self.net = pSp()
        self.n_iters_per_batch = n_iters_per_batch
        self.optimizer = torch.optim.Adam(self.net.encoder.parameters(), lr=1e-3)
        self.avg_image = torch.zeros(16)

    def calc_loss(self, y, y_hat, latent):
        return F.mse_loss(y_hat, y) + 0.01 * (latent - self.net.latent_avg).pow(2).mean()

    def perform_train_iteration_on_batch(self, x, y):
        y_hat, latent = None, None
        for iter in range(self.n_iters_per_batch):
            if iter == 0:
                x_input = torch.cat([x, self.avg_image.repeat(x.shape[0], 1)], dim=1)
                y_hat, latent = self.net(x_input)
            else:
                x_input = torch.cat([x, y_hat], dim=1)
                y_hat, latent = self.net(x_input, latent=latent)
            loss = self.calc_loss(y, y_hat, latent)
            loss.backward()
        return y_hat, loss

    def train(self, max_steps=3):
        for step in range(max_steps):
            self.optimizer.zero_grad()
            x = torch.randn(8, 16)
            y_hat, loss = self.perform_train_iteration_on_batch(x, x)
            self.optimizer.step()


# %%
coach = Coach()
coach.train()
