# https://github.com/eriklindernoren/PyTorch-GAN/issues/52
import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 12), nn.Tanh())

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, img):
        return self.model(img)


# %%
rel_avg_gan = True
adversarial_loss = torch.nn.BCEWithLogitsLoss()
generator, discriminator = Generator(), Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.0002, betas=(0.5, 0.999))

# %%
for i in range(3):
    real_imgs = torch.randn(16, 12)
    valid, fake = torch.ones(16, 1), torch.zeros(16, 1)

    optimizer_G.zero_grad()
    z = torch.randn(16, 8)
    gen_imgs = generator(z)
    real_pred = discriminator(real_imgs).detach()
    fake_pred = discriminator(gen_imgs)
    if rel_avg_gan:
        g_loss = adversarial_loss(fake_pred - real_pred.mean(0, keepdim=True), valid)
    else:
        g_loss = adversarial_loss(fake_pred - real_pred, valid)

    # Loss measures generator's ability to fool the discriminator
    g_loss = adversarial_loss(discriminator(gen_imgs), valid)

    g_loss.backward()
    optimizer_G.step()

    with torch.no_grad():
        usual = adversarial_loss(fake_pred, valid)
        relativistic = adversarial_loss(fake_pred - real_pred.mean(0, keepdim=True), valid)

    optimizer_D.zero_grad()
    real_pred = discriminator(real_imgs)
    fake_pred = discriminator(gen_imgs.detach())
    real_loss = adversarial_loss(real_pred - fake_pred.mean(0, keepdim=True), valid)
    fake_loss = adversarial_loss(fake_pred - real_pred.mean(0, keepdim=True), fake)
    d_loss = (real_loss + fake_loss) / 2
    d_loss.backward()
    optimizer_D.step()
    print(d_loss.item(), g_loss.item())
