# https://github.com/zalandoresearch/pytorch-vq-vae/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        encoding_indices = torch.cdist(inputs, self._embedding.weight).argmin(1)
        quantized = self._embedding(encoding_indices)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        return loss, quantized


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self._encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4))
        self._vq_vae = VectorQuantizer(8, 4, 0.25)
        self._decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12))

    def forward(self, x):
        loss, quantized = self._vq_vae(self._encoder(x))
        return loss, self._decoder(quantized)


# %%
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for i in range(3):
    data = torch.randn(16, 12)
    optimizer.zero_grad()
    vq_loss, data_recon = model(data)
    recon_error = F.mse_loss(data_recon, data)
    loss = recon_error + vq_loss
    loss.backward()
    optimizer.step()
    print(recon_error.item())
