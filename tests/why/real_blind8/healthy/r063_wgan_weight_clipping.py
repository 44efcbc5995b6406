# https://github.com/eriklindernoren/PyTorch-GAN/blob/master/implementations/wgan/wgan.py
import torch
import torch.nn as nn

torch.manual_seed(0)
latent_dim, clip_value, n_critic = 8, 0.01, 2
generator = nn.Sequential(nn.Linear(latent_dim, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 16), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 1))

# %%
optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
optimizer_D = torch.optim.RMSprop(discriminator.parameters(), lr=5e-5)

# %%
for i in range(6):
    real_imgs = torch.rand(8, 16) * 2 - 1

    # ---------------------
    #  Train Discriminator
    # ---------------------
    optimizer_D.zero_grad()
    z = torch.randn(8, latent_dim)
    fake_imgs = generator(z).detach()
    # Adversarial loss
    loss_D = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs))
    loss_D.backward()
    optimizer_D.step()

    # Clip weights of discriminator
    for p in discriminator.parameters():
        p.data.clamp_(-clip_value, clip_value)

    # Train the generator every n_critic iterations
    if i % n_critic == 0:
        # -----------------
        #  Train Generator
        # -----------------
        optimizer_G.zero_grad()
        gen_imgs = generator(z)
        # Adversarial loss
        loss_G = -torch.mean(discriminator(gen_imgs))
        loss_G.backward()
        optimizer_G.step()
        print(i, loss_D.item(), loss_G.item())
