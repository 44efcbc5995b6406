# https://github.com/karpathy/deep-vector-quantization/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, n_embed, embedding_dim, commitment_cost=0.25):
        super().__init__()
        self.embed = nn.Embedding(n_embed, embedding_dim)
        self.commitment_cost = commitment_cost

    def forward(self, z_e):
        dist = torch.cdist(z_e.detach(), self.embed.weight.detach())
        ind = dist.argmin(dim=1)
        z_q = self.embed(ind)
        diff = (z_q.detach() - z_e).pow(2).mean() + self.commitment_cost * (z_q - z_e.detach()).pow(2).mean()
        z_q = z_e + (z_q - z_e).detach()
        return z_q, diff, ind


class VQVAE(nn.Module):
    def __init__(self, n_in=12, n_hid=16, n_embed=8, embedding_dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, n_hid), nn.ReLU(), nn.Linear(n_hid, embedding_dim))
        self.quantizer = VectorQuantizer(n_embed, embedding_dim)
        self.decoder = nn.Sequential(nn.Linear(embedding_dim, n_hid), nn.ReLU(), nn.Linear(n_hid, n_in))

    def forward(self, x):
        z_e = self.encoder(x)
        z_q, latent_loss, ind = self.quantizer(z_e)
        return self.decoder(z_q), latent_loss, ind


# %%
model = VQVAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(30):
    x = torch.randn(32, 12)
    x_hat, latent_loss, ind = model(x)
    recon_loss = F.mse_loss(x_hat, x)
    loss = recon_loss + latent_loss
    optimizer.zero_grad()
    loss.backward()
    of_codebook = model.quantizer.embed.weight.grad.clone()
    with torch.no_grad():
        z_e = model.encoder(x)
    pull = (model.quantizer.embed(ind) - z_e).pow(2).mean()
    of_codebook_loss = torch.autograd.grad(pull, model.quantizer.embed.weight)[0]
    optimizer.step()
print(recon_loss.item(), latent_loss.item())
print("codebook gradient / gradient of the codebook loss", (of_codebook.norm() / of_codebook_loss.norm()).item())
