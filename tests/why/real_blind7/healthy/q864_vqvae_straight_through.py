# https://github.com/zalandoresearch/pytorch-vq-vae/blob/master/vq-vae.ipynb
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super(VectorQuantizer, self).__init__()
        self._num_embeddings = num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        distances = torch.sum(inputs**2, dim=1, keepdim=True) + torch.sum(self._embedding.weight**2, dim=1) - 2 * torch.matmul(inputs, self._embedding.weight.t())
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized, perplexity


# %%
enc, vq, dec = nn.Linear(6, 4), VectorQuantizer(8, 4, 0.25), nn.Linear(4, 6)
optimizer = torch.optim.Adam([*enc.parameters(), *vq.parameters(), *dec.parameters()], lr=1e-3, amsgrad=False)
before = enc.weight.detach().clone()

# %%
for i in range(3):
    data = torch.randn(32, 6)
    optimizer.zero_grad()
    vq_loss, quantized, perplexity = vq(enc(data))
    loss = F.mse_loss(dec(quantized), data) + vq_loss
    loss.backward()
    optimizer.step()
    print(i, loss.item(), perplexity.item())
