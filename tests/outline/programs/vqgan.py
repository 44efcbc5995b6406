import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.block = nn.Sequential(
            nn.GroupNorm(4, c),
            nn.SiLU(),
            nn.Conv2d(c, c, 3, 1, 1),
            nn.GroupNorm(4, c),
            nn.SiLU(),
            nn.Conv2d(c, c, 3, 1, 1),
        )

    def forward(self, x):
        return x + self.block(x)


class Codebook(nn.Module):
    def __init__(self, n=16, dim=8, beta=0.25):
        super().__init__()
        self.n, self.dim, self.beta = n, dim, beta
        self.embedding = nn.Embedding(n, dim)
        self.embedding.weight.data.uniform_(-1.0 / n, 1.0 / n)

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, self.dim)
        d = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.weight.t())
        )
        indices = torch.argmin(d, dim=1)
        z_q = self.embedding(indices).view(z.shape)
        loss = torch.mean((z_q.detach() - z) ** 2) + self.beta * torch.mean((z_q - z.detach()) ** 2)
        z_q = z + (z_q - z).detach()
        return z_q.permute(0, 3, 1, 2), indices, loss


class VQGAN(nn.Module):
    def __init__(self, c=8, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, c, 3, 1, 1), ResBlock(c), nn.Conv2d(c, c, 3, 2, 1), ResBlock(c)
        )
        self.quant_conv = nn.Conv2d(c, dim, 1)
        self.codebook = Codebook(dim=dim)
        self.post_quant_conv = nn.Conv2d(dim, c, 1)
        self.decoder = nn.Sequential(
            ResBlock(c), nn.Upsample(scale_factor=2), ResBlock(c), nn.Conv2d(c, 3, 3, 1, 1)
        )

    def forward(self, imgs):
        quant_in = self.quant_conv(self.encoder(imgs))
        codebook_mapping, indices, q_loss = self.codebook(quant_in)
        return self.decoder(self.post_quant_conv(codebook_mapping)), indices, q_loss

    def calculate_lambda(self, perceptual_loss, gan_loss):
        last_layer_weight = self.decoder[-1].weight
        perceptual_grads = torch.autograd.grad(
            perceptual_loss, last_layer_weight, retain_graph=True
        )[0]
        gan_grads = torch.autograd.grad(gan_loss, last_layer_weight, retain_graph=True)[0]
        lam = torch.norm(perceptual_grads) / (torch.norm(gan_grads) + 1e-4)
        return 0.8 * torch.clamp(lam, 0, 1e4).detach()


class Discriminator(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(3, c, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(c, 2 * c, 4, 2, 1, bias=False),
            nn.BatchNorm2d(2 * c),
            nn.LeakyReLU(0.2, True),
            nn.Conv2d(2 * c, 1, 3, 1, 1),
        )

    def forward(self, x):
        return self.model(x)


class LPIPS(nn.Module):
    def __init__(self):
        super().__init__()
        self.slices = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.ReLU()),
                nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU()),
            ]
        )
        self.lins = nn.ModuleList([nn.Conv2d(8, 1, 1, bias=False), nn.Conv2d(16, 1, 1, bias=False)])
        for p in self.parameters():
            p.requires_grad = False

    def features(self, x):
        out = []
        for s in self.slices:
            x = s(x)
            out.append(x / (x.norm(dim=1, keepdim=True) + 1e-8))
        return out

    def forward(self, real, fake):
        diffs = [
            (a - b) ** 2 for a, b in zip(self.features(real), self.features(fake), strict=True)
        ]
        return sum(
            lin(d).mean(dim=(2, 3), keepdim=True) for lin, d in zip(self.lins, diffs, strict=True)
        )


vqgan, discriminator, perceptual = VQGAN(), Discriminator(), LPIPS().eval()
opt_vq = torch.optim.Adam(vqgan.parameters(), lr=2e-4, betas=(0.5, 0.9))
opt_disc = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.9))
imgs = torch.rand(2, 3, 16, 16)
# %% the recorded cell
decoded_images, _, q_loss = vqgan(imgs)
disc_real = discriminator(imgs)
disc_fake = discriminator(decoded_images)

perceptual_loss = perceptual(imgs, decoded_images)
rec_loss = torch.abs(imgs - decoded_images)
perceptual_rec_loss = (1.0 * perceptual_loss + 1.0 * rec_loss).mean()
g_loss = -torch.mean(disc_fake)
lam = vqgan.calculate_lambda(perceptual_rec_loss, g_loss)
vq_loss = perceptual_rec_loss + q_loss + lam * g_loss

d_loss_real = torch.mean(F.relu(1.0 - disc_real))
d_loss_fake = torch.mean(F.relu(1.0 + disc_fake))
gan_loss = 0.5 * (d_loss_real + d_loss_fake)

opt_vq.zero_grad()
vq_loss.backward(retain_graph=True)
opt_disc.zero_grad()
gan_loss.backward()
opt_vq.step()
opt_disc.step()
