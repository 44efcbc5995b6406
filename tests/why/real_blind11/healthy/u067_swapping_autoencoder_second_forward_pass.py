# https://github.com/rosinality/swapping-autoencoder-pytorch/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.structure, self.texture = nn.Linear(16, 8), nn.Linear(16, 4)

    def forward(self, x):
        return self.structure(x), self.texture(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 16))

    def forward(self, structure, texture):
        return self.net(torch.cat([structure, texture], 1))


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


# %%
encoder, generator, discriminator = Encoder(), Generator(), nn.Linear(16, 1)
g_optim = torch.optim.Adam([*encoder.parameters(), *generator.parameters()], lr=0.002, betas=(0.0, 0.99))
d_optim = torch.optim.Adam(discriminator.parameters(), lr=0.002, betas=(0.0, 0.99))
real_img1, real_img2 = torch.randn(32, 16), torch.randn(32, 16)

# %%
recon = []
for i in range(30):
    requires_grad(encoder, False)
    requires_grad(generator, False)
    requires_grad(discriminator, True)
    structure1, texture1 = encoder(real_img1)
    _, texture2 = encoder(real_img2)
    fake_img1 = generator(structure1, texture1)
    fake_img2 = generator(structure1, texture2)
    fake_pred = discriminator(torch.cat((fake_img1, fake_img2), 0))
    real_pred = discriminator(torch.cat((real_img1, real_img2), 0))
    disc_loss = F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()
    discriminator.zero_grad()
    disc_loss.backward()
    d_optim.step()

    requires_grad(encoder, True)
    requires_grad(generator, True)
    requires_grad(discriminator, False)
    structure1, texture1 = encoder(real_img1)
    _, texture2 = encoder(real_img2)
    fake_img1 = generator(structure1, texture1)
    fake_img2 = generator(structure1, texture2)
    recon_loss = F.l1_loss(fake_img1, real_img1)
    gan_loss = F.softplus(-discriminator(torch.cat((fake_img1, fake_img2), 0))).mean()
    encoder.zero_grad()
    generator.zero_grad()
    (recon_loss + 0.5 * gan_loss).backward()
    g_optim.step()
    recon.append(recon_loss.item())
print(recon[0], recon[-1])
assert recon[-1] < recon[0] and encoder.texture.weight.grad.abs().sum() > 0
