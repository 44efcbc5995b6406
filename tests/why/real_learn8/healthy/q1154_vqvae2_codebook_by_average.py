# https://github.com/rosinality/vq-vae-2-pytorch/blob/master/vqvae.py
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class Quantize(nn.Module):
    def __init__(self, dim, n_embed, decay=0.99, eps=1e-5):
        super().__init__()
        self.dim, self.n_embed, self.decay, self.eps = dim, n_embed, decay, eps
        embed = torch.randn(dim, n_embed)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, input):
        flatten = input.reshape(-1, self.dim)
        dist = (
            flatten.pow(2).sum(1, keepdim=True)
            - 2 * flatten @ self.embed
            + self.embed.pow(2).sum(0, keepdim=True)
        )
        _, embed_ind = (-dist).max(1)
        embed_onehot = F.one_hot(embed_ind, self.n_embed).type(flatten.dtype)
        embed_ind = embed_ind.view(*input.shape[:-1])
        quantize = self.embed_code(embed_ind)
        if self.training:
            embed_onehot_sum = embed_onehot.sum(0)
            embed_sum = flatten.transpose(0, 1) @ embed_onehot
            self.cluster_size.data.mul_(self.decay).add_(embed_onehot_sum, alpha=1 - self.decay)
            self.embed_avg.data.mul_(self.decay).add_(embed_sum, alpha=1 - self.decay)
            n = self.cluster_size.sum()
            cluster_size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
            embed_normalized = self.embed_avg / cluster_size.unsqueeze(0)
            self.embed.data.copy_(embed_normalized)
        diff = (quantize.detach() - input).pow(2).mean()
        quantize = input + (quantize - input).detach()
        return quantize, diff, embed_ind

    def embed_code(self, embed_id):
        return F.embedding(embed_id, self.embed.transpose(0, 1))


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )

    def forward(self, input):
        out = self.conv(input)
        out += input
        return out


class VQVAE(nn.Module):
    def __init__(self, channel=8, embed_dim=4, n_embed=16):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, channel, 4, stride=2, padding=1),
            ResBlock(channel, 4),
            nn.ReLU(inplace=True),
        )
        self.quantize_conv = nn.Conv2d(channel, embed_dim, 1)
        self.quantize = Quantize(embed_dim, n_embed)
        self.dec = nn.Sequential(
            nn.Conv2d(embed_dim, channel, 3, padding=1),
            ResBlock(channel, 4),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(channel, 3, 4, stride=2, padding=1),
        )

    def forward(self, input):
        quant = self.quantize_conv(self.enc(input)).permute(0, 2, 3, 1)
        quant, diff, _ = self.quantize(quant)
        return self.dec(quant.permute(0, 3, 1, 2)), diff.unsqueeze(0)


model = VQVAE()
optimizer = optim.Adam(model.parameters(), lr=3e-4)
criterion, latent_loss_weight = nn.MSELoss(), 0.25
before = model.enc[0].weight.detach().clone()

# %%
mse_sum, mse_n = 0, 0
for i in range(3):
    img = torch.randn(4, 3, 8, 8)
    model.zero_grad()
    out, latent_loss = model(img)
    recon_loss = criterion(out, img)
    latent_loss = latent_loss.mean()
    loss = recon_loss + latent_loss_weight * latent_loss
    loss.backward()
    optimizer.step()
    part_mse_sum = recon_loss.item() * img.shape[0]
    mse_sum += part_mse_sum
    mse_n += img.shape[0]
    print(i + 1, recon_loss.item(), latent_loss.item(), mse_sum / mse_n)
    if i % 2 == 0:
        model.eval()
        with torch.no_grad():
            sample, _ = model(img[:2])
        model.train()
