# https://github.com/eriklindernoren/PyTorch-GAN/issues/179
import torch
import torch.nn as nn

torch.manual_seed(0)

latent_dim, n_classes, data_dim, batch_size = 8, 4, 2, 64


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_emb = nn.Embedding(n_classes, n_classes)
        self.model = nn.Sequential(nn.Linear(latent_dim + n_classes, 32), nn.LeakyReLU(0.2),
                                   nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, data_dim))

    def forward(self, noise, labels):
        return self.model(torch.cat((self.label_emb(labels), noise), -1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_embedding = nn.Embedding(n_classes, n_classes)
        self.model = nn.Sequential(nn.Linear(n_classes + data_dim, 32), nn.LeakyReLU(0.2),
                                   nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, img, labels):
        return self.model(torch.cat((img, self.label_embedding(labels)), -1))


centers = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])


def real_batch():
    labels = torch.randint(0, n_classes, (batch_size,))
    return centers[labels] + 0.2 * torch.randn(batch_size, data_dim), labels


def distance(generator):
    with torch.no_grad():
        labels = torch.arange(n_classes).repeat_interleave(50)
        made = generator(torch.randn(len(labels), latent_dim), labels)
        return (made.view(n_classes, 50, 2).mean(1) - centers).norm(dim=-1).mean().item()


# %%
adversarial_loss = nn.MSELoss()
generator, discriminator = Generator(), Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.003, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.003, betas=(0.5, 0.999))
valid, fake = torch.ones(batch_size, 1), torch.zeros(batch_size, 1)
first = distance(generator)

# %%
for i in range(200):
    real_imgs, labels = real_batch()

    optimizer_G.zero_grad()
    z = torch.randn(batch_size, latent_dim)
    gen_labels = torch.randint(0, n_classes, (batch_size,))
    gen_imgs = generator(z, gen_labels)
    validity = discriminator(gen_imgs, gen_labels)
    g_loss = adversarial_loss(validity, valid)
    g_loss.backward()
    optimizer_G.step()

    optimizer_D.zero_grad()
    validity_real = discriminator(real_imgs, labels)
    d_real_loss = adversarial_loss(validity_real, valid)
    validity_fake = discriminator(gen_imgs.detach(), gen_labels)
    d_fake_loss = adversarial_loss(validity_fake, fake)
    d_loss = (d_real_loss + d_fake_loss) / 2
    d_loss.backward()
    optimizer_D.step()
last = distance(generator)
print(first, last, g_loss.item(), d_loss.item())
