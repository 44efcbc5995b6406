# https://github.com/showlab/Olaf-World/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, num_latents, latent_dim):
        super().__init__()
        self.codebook = nn.Embedding(num_latents, latent_dim)
        self.codebook.weight.data.uniform_(-1.0 / num_latents, 1.0 / num_latents)

    def forward(self, x):
        distance = torch.cdist(x, self.codebook.weight)
        indices = torch.argmin(distance, dim=-1)
        z = self.codebook(indices)
        z_q = x + (z - x).detach()
        return z_q, z, x, indices


class VQLatentActionModel(nn.Module):
    def __init__(self, in_dim=12, latent_dim=8, num_latents=6, beta=0.25):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2 * in_dim, 32), nn.GELU(), nn.Linear(32, latent_dim))
        self.vq = VectorQuantizer(num_latents, latent_dim)
        self.decoder = nn.Sequential(nn.Linear(in_dim + latent_dim, 32), nn.GELU(), nn.Linear(32, in_dim))
        self.beta = beta

    def encode(self, frames):
        z_e = self.encoder(frames.flatten(1))
        z_q, _, z_e, indices = self.vq(z_e)
        return z_q, z_e, indices

    def training_loss(self, frames):
        z_q, z_e, indices = self.encode(frames)
        recon = self.decoder(torch.cat([frames[:, 0], z_q], dim=-1))
        mse_loss = F.mse_loss(recon, frames[:, 1])
        codebook_loss = F.mse_loss(z_q, z_e.detach())
        commitment_loss = F.mse_loss(z_e, z_q.detach())
        return mse_loss + codebook_loss + self.beta * commitment_loss


# %%
model = VQLatentActionModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
codebook_before = model.vq.codebook.weight.detach().clone()

# %%
for step in range(5):
    frames = torch.randn(16, 2, 12)
    loss = model.training_loss(frames)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
