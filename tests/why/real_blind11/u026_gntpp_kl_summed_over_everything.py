# https://github.com/EDAPINENUT/GNTPP/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAEDecoder(nn.Module):
    def __init__(self, embed_size=16, latent_size=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(embed_size + 1, 32), nn.ReLU())
        self.to_mean, self.to_log_var = nn.Linear(32, latent_size), nn.Linear(32, latent_size)
        self.decoder = nn.Sequential(nn.Linear(embed_size + latent_size, 32), nn.ReLU(), nn.Linear(32, 1))

    def reparameterize(self, mean, log_var):
        std = torch.exp(0.5 * log_var)
        return mean + torch.randn_like(std) * std

    def compute_loss(self, dt, history_embedding, seq_onehots):
        h = self.encoder(torch.cat([history_embedding, dt.unsqueeze(-1)], dim=-1))
        mean, log_var = self.to_mean(h), self.to_log_var(h)
        z = self.reparameterize(mean, log_var)
        dt_hat = self.decoder(torch.cat([history_embedding, z], dim=-1)).squeeze(-1)
        recon_loss = F.mse_loss(dt_hat, dt, reduction='none') * seq_onehots
        kl_loss = (- 0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())) * seq_onehots
        return recon_loss, kl_loss


# %%
decoder = VAEDecoder()
history_encoder = nn.GRU(1, 16, batch_first=True)
optimizer = torch.optim.Adam([*decoder.parameters(), *history_encoder.parameters()], lr=1e-3)
dt = torch.rand(8, 12)
lengths = torch.randint(4, 13, (8,))
seq_onehots = (torch.arange(12)[None] < lengths[:, None]).float()

# %%
for epoch in range(5):
    history_embedding, _ = history_encoder(dt.unsqueeze(-1))
    recon_loss, kl_loss = decoder.compute_loss(dt[:, 1:], history_embedding[:, :-1], seq_onehots[:, 1:])
    loss = (recon_loss + kl_loss).sum() / seq_onehots[:, 1:].sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, recon_loss.mean().item(), kl_loss.mean().item())
