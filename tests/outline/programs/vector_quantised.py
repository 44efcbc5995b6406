import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VQ(nn.Module):
    def __init__(self, k=64, d=16):
        super().__init__()
        self.codebook = nn.Embedding(k, d)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        d = (
            (flat**2).sum(1, keepdim=True)
            - 2 * flat @ self.codebook.weight.t()
            + (self.codebook.weight**2).sum(1)
        )
        idx = d.argmin(1)
        q = self.codebook(idx).view(z.shape[0], z.shape[2], z.shape[3], -1).permute(0, 3, 1, 2)
        commit = F.mse_loss(z, q.detach()) * 0.25
        cb = F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        return q, commit + cb


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 16, 4, 2, 1))
        self.vq = VQ()
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1)
        )

    def forward(self, x):
        z = self.enc(x)
        q, commitment = self.vq(z)
        return self.dec(q), commitment


model = VQVAE()
opt = torch.optim.Adam(model.parameters(), 1e-3)
x = torch.rand(4, 3, 16, 16)
# %% the recorded cell
opt.zero_grad()
out, vq_loss = model(x)
loss = F.mse_loss(out, x) + vq_loss
loss.backward()
opt.step()
