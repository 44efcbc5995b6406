# A vector-quantised autoencoder: the nearest code stands for each place, gradients pass it straight
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Quantiser(nn.Module):
    def __init__(self, codes=12, width=6):
        super().__init__()
        self.codebook = nn.Embedding(codes, width)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        index = torch.cdist(flat, self.codebook.weight).argmin(-1)
        q = self.codebook(index)
        codes = F.mse_loss(q, flat.detach())
        commit = F.mse_loss(flat, q.detach())
        q = flat + (q - flat).detach()
        b, c, h, w = z.shape
        return q.reshape(b, h, w, c).permute(0, 3, 1, 2), codes + 0.25 * commit


class VQVAE(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 4, 2, 1), nn.ReLU()
        )
        self.pre = nn.Conv2d(16, width, 1)
        self.quantise = Quantiser(width=width)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(width, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1)
        )

    def forward(self, x):
        z = self.pre(self.encoder(x))
        q, vq = self.quantise(z)
        return self.decoder(q), vq


model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
images = torch.randn(2, 3, 16, 16)
# %% the recorded cell
opt.zero_grad()
recon, vq = model(images)
loss = F.mse_loss(recon, images) + vq
loss.backward()
opt.step()
