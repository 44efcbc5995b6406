# https://github.com/EdoardoBotta/RQ-VAE-Recommender/issues/24
import torch
import torch.nn as nn

torch.manual_seed(0)


class Quantize(nn.Module):
    def __init__(self, embed_dim, n_embed):
        super().__init__()
        self.embedding = nn.Embedding(n_embed, embed_dim)

    def forward(self, x):
        codebook = self.embedding.weight
        dist = (x ** 2).sum(axis=1, keepdim=True) + (codebook.T ** 2).sum(axis=0, keepdim=True) - 2 * x @ codebook.T
        _, ids = dist.detach().min(axis=1)
        emb = self.embedding(ids)
        emb_out = x + (emb - x).detach()
        return emb_out, ids


class RqVaeLoss(nn.Module):
    def __init__(self, commitment_weight):
        super().__init__()
        self.commitment_weight = commitment_weight

    def forward(self, query, value):
        emb_loss = ((query.detach() - value) ** 2).sum(axis=-2)
        query_loss = ((query - value.detach()) ** 2).sum(axis=-2)
        return (emb_loss + self.commitment_weight * query_loss).sum(axis=-1)


class RqVae(nn.Module):
    def __init__(self, input_dim=16, embed_dim=8, codebook_size=12, n_layers=3):
        super().__init__()
        self.layers = nn.ModuleList([Quantize(embed_dim, codebook_size) for _ in range(n_layers)])
        self.encoder = nn.Sequential(nn.Linear(input_dim, 32), nn.SiLU(), nn.Linear(32, embed_dim))
        self.decoder = nn.Sequential(nn.Linear(embed_dim, 32), nn.SiLU(), nn.Linear(32, input_dim))
        self.rqvae_loss = RqVaeLoss(0.25)

    def get_semantic_ids(self, x):
        res = self.encoder(x)
        embs, residuals = [], []
        for layer in self.layers:
            residuals.append(res)
            emb, ids = layer(res)
            res = res - emb
            embs.append(emb)
        return torch.stack(embs, -1), torch.stack(residuals, -1)

    def forward(self, x):
        embs, residuals = self.get_semantic_ids(x)
        x_hat = self.decoder(embs.sum(axis=-1))
        reconstuction_loss = ((x_hat - x) ** 2).sum(axis=-1)
        rqvae_loss = self.rqvae_loss(residuals, embs)
        return (reconstuction_loss + rqvae_loss).mean()


# %%
model = RqVae()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
for step in range(2):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 16))
    loss.backward()

    for name, weight in model.named_parameters():
        print(name, None if weight.grad is None else weight.grad.norm())

    optimizer.step()
