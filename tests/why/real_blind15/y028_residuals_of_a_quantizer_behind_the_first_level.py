# https://github.com/EdoardoBotta/RQ-VAE-Recommender/issues/67
import torch
import torch.nn as nn

torch.manual_seed(0)


class QuantizeLoss(nn.Module):
    def __init__(self, commitment_weight=0.25):
        super().__init__()
        self.commitment_weight = commitment_weight

    def forward(self, query, value):
        emb_loss = ((query.detach() - value) ** 2).sum(dim=-1)
        query_loss = ((query - value.detach()) ** 2).sum(dim=-1)
        return emb_loss + self.commitment_weight * query_loss


class Quantize(nn.Module):
    def __init__(self, embed_dim, n_embed):
        super().__init__()
        self.embedding = nn.Embedding(n_embed, embed_dim)
        self.quantize_loss = QuantizeLoss()

    def forward(self, x):
        ids = torch.cdist(x.detach(), self.embedding.weight.detach()).argmin(dim=1)
        emb = self.embedding(ids)
        emb_out = x + (emb - x).detach()
        return emb_out, ids, self.quantize_loss(query=x, value=emb)


class RqVae(nn.Module):
    def __init__(self, input_dim=16, embed_dim=4, hidden_dim=32, codebook_size=8, n_layers=3):
        super().__init__()
        self.layers = nn.ModuleList([Quantize(embed_dim, codebook_size) for _ in range(n_layers)])
        self.encoder = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.SiLU(), nn.Linear(hidden_dim, embed_dim))
        self.decoder = nn.Sequential(nn.Linear(embed_dim, hidden_dim), nn.SiLU(), nn.Linear(hidden_dim, input_dim))

    def forward(self, x):
        res = self.encoder(x)
        embs, sem_ids, losses = [], [], []
        for layer in self.layers:
            emb, ids, loss = layer(res)
            res = res - emb
            embs.append(emb)
            sem_ids.append(ids)
            losses.append(loss.mean())
        x_hat = self.decoder(torch.stack(embs).sum(dim=0))
        reconstruction_loss = ((x_hat - x) ** 2).sum(dim=-1).mean()
        return reconstruction_loss, losses, torch.stack(sem_ids, dim=1)


data = torch.randn(8, 16)[torch.randint(0, 8, (256,))] + 0.2 * torch.randn(256, 16)

# %%
model = RqVae()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(40):
    x = data[torch.randint(0, len(data), (64,))]
    reconstruction_loss, losses, sem_ids = model(x)
    loss = reconstruction_loss + sum(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(reconstruction_loss.item(), [level.item() for level in losses])
_, losses, _ = model(data)
reached = [torch.autograd.grad(level, model.encoder[2].weight, retain_graph=True)[0].norm().item() for level in losses]
print("gradient that the quantize loss of each level gives the encoder", reached)
