# https://github.com/CompVis/taming-transformers/issues/35
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, n_e, e_dim, beta):
        super(VectorQuantizer, self).__init__()
        self.n_e, self.e_dim, self.beta = n_e, e_dim, beta
        self.embedding = nn.Embedding(self.n_e, self.e_dim)
        self.embedding.weight.data.uniform_(-1.0 / self.n_e, 1.0 / self.n_e)

    def forward(self, z):
        # distances from z to embeddings e_j (z - e)^2 = z^2 + e^2 - 2 e * z
        d = torch.sum(z ** 2, dim=1, keepdim=True) + \
            torch.sum(self.embedding.weight ** 2, dim=1) - 2 * \
            torch.matmul(z, self.embedding.weight.t())
        # find closest encodings
        min_encoding_indices = torch.argmin(d, dim=1).unsqueeze(1)
        min_encodings = torch.zeros(min_encoding_indices.shape[0], self.n_e).to(z)
        min_encodings.scatter_(1, min_encoding_indices, 1)
        # get quantized latent vectors
        z_q = torch.matmul(min_encodings, self.embedding.weight)
        # compute loss for embedding
        loss = torch.mean((z_q.detach() - z) ** 2) + self.beta * torch.mean((z_q - z.detach()) ** 2)
        # preserve gradients
        z_q = z + (z_q - z).detach()
        return z_q, loss


# %%
encoder, decoder = nn.Linear(16, 4), nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))
quantize = VectorQuantizer(n_e=32, e_dim=4, beta=0.25)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *quantize.parameters()], lr=5e-3)
x = torch.randn(64, 4) @ torch.randn(4, 16)

# %%
recs = []
for step in range(100):
    z = encoder(x)
    quant, emb_loss = quantize(z)
    xrec = decoder(quant)
    rec_loss = F.l1_loss(xrec, x)
    loss = rec_loss + emb_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    recs.append(rec_loss.item())
print(recs[0], recs[-1])
assert recs[-1] < recs[0] and encoder.weight.grad.abs().sum() > 0
