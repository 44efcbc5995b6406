# https://github.com/nicolas-dufour/CAD/issues/2
import torch
from torch import nn

torch.manual_seed(0)


class RINBlock(nn.Module):
    """latents read from the data, think, and write back"""
    def __init__(self, data_dim=6, latent_dim=32, num_latents=4):
        super().__init__()
        self.latents = nn.Parameter(0.02 * torch.randn(1, num_latents, latent_dim))
        self.self_cond = nn.LayerNorm(latent_dim)
        nn.init.zeros_(self.self_cond.weight)
        self.embed = nn.Linear(data_dim + 1, latent_dim)
        self.read = nn.MultiheadAttention(latent_dim, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(latent_dim), nn.Linear(latent_dim, 64), nn.GELU(), nn.Linear(64, latent_dim))
        self.write = nn.MultiheadAttention(latent_dim, 4, batch_first=True)
        self.out = nn.Linear(latent_dim, data_dim)

    def forward(self, batch):
        gamma = batch["gamma"][:, None, None].expand(-1, batch["y"].size(1), 1)
        x = self.embed(torch.cat([batch["y"], gamma], -1))
        latents = self.latents.expand(len(x), -1, -1)
        if batch["previous_latents"] is not None:
            latents = latents + self.self_cond(batch["previous_latents"])
        latents = latents + self.read(latents, x, x, need_weights=False)[0]
        latents = latents + self.mlp(latents)
        x = x + self.write(x, latents, latents, need_weights=False)[0]
        return self.out(x), latents


class DDPMLoss:
    def __init__(self, self_cond_rate=0.9):
        self.self_cond_rate = self_cond_rate

    def __call__(self, network, batch):
        x_0 = batch["x_0"]
        gamma = torch.rand(x_0.shape[0])
        n = torch.randn_like(x_0)
        batch["y"] = gamma.sqrt()[:, None, None] * x_0 + (1 - gamma).sqrt()[:, None, None] * n
        batch["gamma"] = gamma
        batch["previous_latents"] = self.latent_self_cond(network, batch)
        D_n, _ = network(batch)
        return (D_n - n) ** 2

    def latent_self_cond(self, network, batch):
        # no torch.no_grad() here: autocast would remember weights cast without gradient
        _, latents = network({**batch, "previous_latents": None})
        drop_mask = (torch.rand(latents.shape[0], 1, 1) > 1 - self.self_cond_rate).to(latents.dtype)
        latents = latents * drop_mask
        latents = latents.detach()
        network.zero_grad()
        return latents


# %%
network = RINBlock()
loss_fn = DDPMLoss()
optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-2)
images = torch.sin(torch.arange(48).float().view(1, 8, 6) / 5 + torch.randn(64, 1, 1))
embed_before = network.embed.weight.detach().clone()
train_losses = []

# %%
for step in range(100):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_fn(network, {"x_0": images}).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    train_losses.append(loss.item())
print(train_losses[0], train_losses[-1])
assert sum(train_losses[-10:]) < 0.9 * sum(train_losses[:10])
assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in network.parameters())
assert not torch.equal(embed_before, network.embed.weight)
