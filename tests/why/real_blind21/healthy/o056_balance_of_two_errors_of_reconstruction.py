# https://github.com/eriklindernoren/PyTorch-GAN/blob/master/implementations/began/began.py
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)
latent_dim, img_size, channels, batch_size = 16, 8, 1, 32


def weights_init_normal(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        torch.nn.init.normal_(m.weight.data, 0.0, 0.1)
    elif classname.find('BatchNorm2d') != -1:
        torch.nn.init.normal_(m.weight.data, 1.0, 0.02)
        torch.nn.init.constant_(m.bias.data, 0.0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.init_size = img_size // 4
        self.l1 = nn.Sequential(nn.Linear(latent_dim, 32 * self.init_size ** 2))
        self.conv_blocks = nn.Sequential(
            nn.BatchNorm2d(32),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 32, 3, stride=1, padding=1),
            nn.BatchNorm2d(32, 0.8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, channels, 3, stride=1, padding=1),
            nn.Tanh()
        )

    def forward(self, noise):
        out = self.l1(noise)
        out = out.view(out.shape[0], 32, self.init_size, self.init_size)
        return self.conv_blocks(out)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.down = nn.Sequential(nn.Conv2d(channels, 16, 3, 2, 1), nn.ReLU())
        self.down_size = (img_size // 2)
        down_dim = 16 * (img_size // 2) ** 2
        self.fc = nn.Sequential(
            nn.Linear(down_dim, 32),
            nn.BatchNorm1d(32, 0.8),
            nn.ReLU(inplace=True),
            nn.Linear(32, down_dim),
            nn.BatchNorm1d(down_dim),
            nn.ReLU(inplace=True)
        )
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, channels, 3, 1, 1))

    def forward(self, img):
        out = self.down(img)
        out = self.fc(out.view(out.size(0), -1))
        return self.up(out.view(out.size(0), 16, self.down_size, self.down_size))


# %%
generator = Generator()
discriminator = Discriminator()
generator.apply(weights_init_normal)
discriminator.apply(weights_init_normal)
optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.002, betas=(0.5, 0.999))
shapes = torch.where(torch.rand(3, 1, img_size, img_size) > 0.5, 0.8, -0.8)

# BEGAN hyper parameters
gamma, lambda_k, k = 0.75, 0.01, 0.
real_losses, ks = [], []

# %%
for i in range(200):
    real_imgs = shapes[torch.randint(0, 3, (batch_size,))] + 0.1 * torch.randn(batch_size, channels, img_size, img_size)

    optimizer_G.zero_grad()
    z = torch.FloatTensor(np.random.normal(0, 1, (batch_size, latent_dim)))
    gen_imgs = generator(z)
    g_loss = torch.mean(torch.abs(discriminator(gen_imgs) - gen_imgs))
    g_loss.backward()
    optimizer_G.step()

    optimizer_D.zero_grad()
    d_real = discriminator(real_imgs)
    d_fake = discriminator(gen_imgs.detach())
    d_loss_real = torch.mean(torch.abs(d_real - real_imgs))
    d_loss_fake = torch.mean(torch.abs(d_fake - gen_imgs.detach()))
    d_loss = d_loss_real - k * d_loss_fake
    d_loss.backward()
    optimizer_D.step()

    # Update weight term for fake samples
    diff = torch.mean(gamma * d_loss_real - d_loss_fake)
    k = k + lambda_k * diff.item()
    k = min(max(k, 0), 1)  # Constraint to interval [0, 1]
    M = (d_loss_real + torch.abs(diff)).item()
    real_losses.append(d_loss_real.item())
    ks.append(k)

# %%
print("D loss: %f, G loss: %f -- M: %f, k: %f" % (d_loss.item(), g_loss.item(), M, k))
assert real_losses[-1] < 0.5 * real_losses[0] and 0 <= min(ks) and max(ks) <= 1
