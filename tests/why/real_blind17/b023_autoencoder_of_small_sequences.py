# https://github.com/Lightning-AI/pytorch-lightning/issues/6554
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader

torch.manual_seed(0)
np.random.seed(0)

data = np.random.rand(20, 2, 8)
h_dim = 10
z_dim = 2


class LightningModule(nn.Module):
    def configure_optimizers(self):
        raise NotImplementedError

    def training_step(self, batch, batch_idx):
        raise NotImplementedError


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model):
        optimizer = model.configure_optimizers()
        model.train()
        for epoch in range(self.max_epochs):
            for batch_idx, batch in enumerate(model.train_dataloader()):
                optimizer.zero_grad()
                loss = model.training_step(batch, batch_idx)
                loss.backward()
                optimizer.step()


class Model(LightningModule):
    def __init__(self, data):
        super(Model, self).__init__()

        self.data = data
        order = np.random.permutation(len(data))
        self.train_data = data[order[:16]]
        self.test_data = data[order[16:]]

    def sampling(self, z_mean, z_log_sigma):
        std = z_log_sigma.mul(0.5).exp_()
        esp = torch.randn(*z_mean.size())
        z = z_mean + std * esp
        return z

    def encoder(self, inp):
        z = nn.Linear(8, 32)(inp)
        z_mean = nn.Linear(32, h_dim)(z)
        z_log_sigma = nn.Linear(32, h_dim)(z)
        return z_mean, z_log_sigma

    def decoder(self, inp_z):
        z = nn.Linear(h_dim, 32)(inp_z)
        z = nn.Linear(32, 8)(z)
        return z

    def forward(self, inp):
        z_mean, z_log_sigma = self.encoder(inp)
        z = self.sampling(z_mean, z_log_sigma)
        out = self.decoder(z)
        return out, z_mean, z_log_sigma

    def loss(self, out, inp, z_mean, z_log_sigma):
        reconstruction = F.mse_loss(out, inp)
        kl = -0.5 * torch.mean(1 + z_log_sigma - z_mean.pow(2) - z_log_sigma.exp())
        return reconstruction + kl

    def train_dataloader(self):
        return DataLoader(torch.tensor(self.train_data).float(), batch_size=4)

    def configure_optimizers(self):
        optimizer = optim.Adam(self.parameters(), lr=1e-3)
        return optimizer

    def training_step(self, batch, batch_idx):
        out, z_mean, z_log_sigma = self(batch)
        return self.loss(out, batch, z_mean, z_log_sigma)


# %%
model = Model(data)
out, z_mean, z_log_sigma = model(torch.tensor(data[:2]).float())
print(out.shape, z_mean.shape)

# %%
trainer = Trainer(max_epochs=2)
trainer.fit(model)
