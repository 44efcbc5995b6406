# https://github.com/yunik1004/SAiD/issues/8
from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(0)


@dataclass
class LossStepOutput:
    reconst: torch.FloatTensor
    regularize: torch.FloatTensor
    velocity: torch.FloatTensor


class BCVAE(nn.Module):
    """Autoencoder for the blendshape coefficients"""

    def __init__(self, channels: int = 32, seq_len: int = 120, z_dim: int = 8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(channels, 8, 3, stride=4), nn.LeakyReLU(0.2, True), nn.Flatten(), nn.Linear(240, z_dim))
        self.fc_mu = nn.Linear(z_dim, z_dim)
        self.fc_logvar = nn.Linear(z_dim, z_dim)
        self.fc_layers = nn.Sequential(nn.Linear(z_dim, 2 * seq_len), nn.LeakyReLU(inplace=True), nn.Unflatten(1, (2, seq_len)))
        self.conv_layers = nn.Sequential(nn.Conv1d(2, channels, 3, padding=1), nn.ReLU(), nn.Tanh())

    def forward(self, coeffs):
        latent = self.encoder(coeffs.transpose(1, 2))
        mean, log_var = self.fc_mu(latent), self.fc_logvar(latent)
        latent = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        coeffs_reconst = self.conv_layers(self.fc_layers(latent))
        return mean, log_var, coeffs_reconst


def elbo_loss(said_vae, data, std) -> LossStepOutput:
    blendshape_coeffs = data.clone()
    batch_size = blendshape_coeffs.shape[0]
    mean, log_var, blendshape_coeffs_reconst = said_vae(blendshape_coeffs)

    criterion_reconst = nn.MSELoss(reduction="sum")
    criterion_velocity = nn.MSELoss(reduction="sum")

    blendshape_coeffs = blendshape_coeffs / std.view(1, 1, -1)
    blendshape_coeffs_reconst *= 1 / std.view(1, -1, 1)
    blendshape_coeffs_reconst = blendshape_coeffs_reconst.transpose(1, 2)
    loss_reconst = 0.5 * criterion_reconst(blendshape_coeffs, blendshape_coeffs_reconst) / batch_size

    loss_kld = 0.5 * torch.mean(torch.sum(torch.pow(mean, 2) + torch.exp(log_var) - log_var - 1, dim=1))

    answer_diff = blendshape_coeffs[:, 1:, :] - blendshape_coeffs[:, :-1, :]
    pred_diff = blendshape_coeffs_reconst[:, 1:, :] - blendshape_coeffs_reconst[:, :-1, :]
    loss_vel = 0.5 * criterion_velocity(pred_diff, answer_diff) / batch_size
    return LossStepOutput(reconst=loss_reconst, regularize=loss_kld, velocity=loss_vel)


def train_epoch(said_vae, train_dataloader, optimizer, beta, std, weight_vel):
    said_vae.train()
    train_total_loss = 0
    train_total_num = 0
    for coeffs in train_dataloader:
        curr_batch_size = coeffs.shape[0]
        losses = elbo_loss(said_vae, coeffs, std)
        loss = losses.reconst + beta * losses.regularize + weight_vel * losses.velocity
        loss.backward()
        nn.utils.clip_grad_norm_(said_vae.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        train_total_num += curr_batch_size
        train_total_loss += loss.item() * curr_batch_size
    return train_total_loss / train_total_num


# %%
said_vae = BCVAE()
optimizer = torch.optim.AdamW(params=said_vae.parameters(), lr=1e-4)
coeffs_std = torch.rand(32) + 0.1
train_dataloader = [torch.rand(8, 120, 32) for _ in range(2)]

for epoch in range(1, 3):
    print(epoch, train_epoch(said_vae, train_dataloader, optimizer, 0.5, coeffs_std, 1.0))
