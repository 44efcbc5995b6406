# https://github.com/eriklindernoren/PyTorch-GAN/issues/5
import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)
latent_dim, img_shape, batch_size, n_critic = 10, (1, 8, 8), 32, 5


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, int(np.prod(img_shape))),
            nn.Tanh()
        )

    def forward(self, z):
        return self.model(z).view(z.shape[0], *img_shape)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.model = nn.Sequential(
            nn.Linear(int(np.prod(img_shape)), 64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, 1)
        )

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


# Loss weight for gradient penalty
lambda_gp = 10

generator = Generator()
discriminator = Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
Tensor = torch.FloatTensor


def compute_gradient_penalty(D, real_samples, fake_samples):
    """Calculates the gradient penalty loss for WGAN GP"""
    # Random weight term for interpolation between real and fake samples
    alpha = Tensor(np.random.random(size=real_samples.shape))
    # Get random interpolation between real and fake samples
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = Tensor(real_samples.shape[0], 1).fill_(1.0)
    # Get gradient w.r.t. interpolates
    gradients = autograd.grad(outputs=d_interpolates, inputs=interpolates, grad_outputs=fake,
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradients = gradients.view(gradients.size(0), -1)
    gradient_penalty = lambda_gp * ((gradients.norm(2, dim=1) - 1) ** 2).mean()
    return gradient_penalty


# %%
imgs = torch.rand(512, *img_shape) * 2 - 1
for i in range(10):
    for _ in range(n_critic):
        real_imgs = imgs[torch.randint(0, len(imgs), (batch_size,))]

        optimizer_D.zero_grad()
        z = Tensor(np.random.normal(0, 1, (batch_size, latent_dim)))
        fake_imgs = generator(z).detach()
        d_loss = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs))
        gradient_penalty = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data)
        (d_loss + gradient_penalty).backward()
        optimizer_D.step()

    optimizer_G.zero_grad()
    z = Tensor(np.random.normal(0, 1, (batch_size, latent_dim)))
    g_loss = -torch.mean(discriminator(generator(z)))
    g_loss.backward()
    optimizer_G.step()
    print(i, d_loss.item(), gradient_penalty.item(), g_loss.item())
