# https://github.com/zdebruine/MMVAE/issues/39
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, features, shared=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, shared), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(shared, features), nn.Sigmoid())


class VAE(nn.Module):
    def __init__(self, shared=32, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(shared, 16), nn.ReLU(), nn.Linear(16, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, shared), nn.ReLU())

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


# %%
experts = nn.ModuleDict({"human": Expert(40), "mouse": Expert(30)})
vae = VAE()
shared_opt = torch.optim.Adam(vae.encoder.parameters(), lr=1e-3)
expert_opts = {name: torch.optim.Adam(expert.parameters(), lr=1e-3) for name, expert in experts.items()}
data = {"human": torch.rand(64, 40), "mouse": torch.rand(64, 30)}
decoder_before = vae.decoder[0].weight.detach().clone()

# %%
for epoch in range(10):
    for name, x in data.items():
        shared_opt.zero_grad()
        expert_opts[name].zero_grad()
        h, mu, logvar = vae(experts[name].encoder(x))
        x_hat = experts[name].decoder(h)
        recon_loss = F.mse_loss(x_hat, x, reduction="sum") / len(x)
        kl_loss = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
        loss = recon_loss + 0.1 * kl_loss
        loss.backward()
        shared_opt.step()
        expert_opts[name].step()
    print(epoch, name, loss.item())
print((vae.decoder[0].weight - decoder_before).abs().max())
