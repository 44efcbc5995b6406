# https://github.com/eriklindernoren/PyTorch-GAN/issues/18
import torch
import torch.nn as nn

torch.manual_seed(0)
latent_dim, img_size, batch_size = 8, 36, 32


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.model = nn.Sequential(nn.Linear(latent_dim, 64), nn.BatchNorm1d(64, 0.8), nn.LeakyReLU(0.2, inplace=True),
                                   nn.Linear(64, img_size), nn.Tanh())

    def forward(self, noise):
        return self.model(noise)


class Discriminator(nn.Module):
    """an autoencoder"""
    def __init__(self):
        super(Discriminator, self).__init__()
        self.down = nn.Sequential(nn.Linear(img_size, 32), nn.ReLU())
        self.embedding = nn.Linear(32, 4)
        self.up = nn.Sequential(nn.Linear(4, 32), nn.ReLU(inplace=True), nn.Linear(32, img_size))

    def forward(self, img):
        embedding = self.embedding(self.down(img))
        return self.up(embedding), embedding


def pullaway_loss(embeddings):
    norm = torch.sqrt(torch.sum(embeddings ** 2, -1, keepdim=True))
    normalized_emb = embeddings / norm
    similarity = torch.matmul(normalized_emb, normalized_emb.transpose(1, 0))
    batch_size = embeddings.size(0)
    return (torch.sum(similarity) - batch_size) / (batch_size * (batch_size - 1))


# %%
pixelwise_loss = nn.MSELoss()
generator, discriminator = Generator(), Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
lambda_pt, margin = 0.1, max(1, batch_size / 64.0)
prototypes = torch.tanh(torch.randn(3, img_size))
first_weight = generator.model[0].weight.detach().clone()
history = []

# %%
for i in range(150):
    real_imgs = prototypes[torch.randint(0, 3, (batch_size,))] + 0.05 * torch.randn(batch_size, img_size)

    #  Train Generator
    optimizer_G.zero_grad()
    z = torch.randn(batch_size, latent_dim)
    gen_imgs = generator(z)
    recon_imgs, img_embeddings = discriminator(gen_imgs)
    g_loss = pixelwise_loss(recon_imgs, gen_imgs.detach()) + lambda_pt * pullaway_loss(img_embeddings)
    g_loss.backward()
    optimizer_G.step()

    #  Train Discriminator
    optimizer_D.zero_grad()
    real_recon, _ = discriminator(real_imgs)
    fake_recon, _ = discriminator(gen_imgs.detach())
    d_loss_real = pixelwise_loss(real_recon, real_imgs)
    d_loss_fake = pixelwise_loss(fake_recon, gen_imgs.detach())
    d_loss = d_loss_real
    if (margin - d_loss_fake.data).item() > 0:
        d_loss += margin - d_loss_fake
    d_loss.backward()
    optimizer_D.step()
    history.append((g_loss.item(), d_loss.item()))
print(history[0], history[-1])
assert history[-1][1] < history[0][1]
assert not torch.equal(first_weight, generator.model[0].weight)
assert generator.model[0].weight.grad.abs().sum() > 0
