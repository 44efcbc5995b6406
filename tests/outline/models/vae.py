# A variational autoencoder: mu and lv stand side by side, the kl term has a way of its own
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.mu = nn.Linear(32, 4)
        self.lv = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv


model = VAE()
opt = torch.optim.Adam(model.parameters())
x = torch.rand(4, 64)
# %% the recorded cell
opt.zero_grad()
rec, mu, lv = model(x)
kl = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum()
bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum")
loss = bce + kl
loss.backward()
opt.step()
