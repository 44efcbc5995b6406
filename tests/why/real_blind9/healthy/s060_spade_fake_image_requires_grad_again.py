# https://github.com/NVlabs/SPADE/issues/130
import torch
from torch import nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 12))
netD = nn.Sequential(nn.Linear(22, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
optimizer_G = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.0, 0.9))
optimizer_D = torch.optim.Adam(netD.parameters(), lr=4e-4, betas=(0.0, 0.9))


def discriminate(input_semantics, fake_image, real_image):
    fake_concat = torch.cat([input_semantics, fake_image], dim=1)
    real_concat = torch.cat([input_semantics, real_image], dim=1)
    out = netD(torch.cat([fake_concat, real_concat], dim=0))
    return out.chunk(2)


def compute_discriminator_loss(input_semantics, real_image):
    global fake_image
    with torch.no_grad():
        fake_image = netG(input_semantics)
        fake_image = fake_image.detach()
        fake_image.requires_grad_()

    pred_fake, pred_real = discriminate(input_semantics, fake_image, real_image)
    return {'D_Fake': -torch.mean(torch.clamp(-pred_fake - 1, max=0)),
            'D_real': -torch.mean(torch.clamp(pred_real - 1, max=0))}


# %%
for i in range(3):
    input_semantics, real_image = torch.randn(8, 10), torch.randn(8, 12)

    optimizer_G.zero_grad()
    pred_fake, _ = discriminate(input_semantics, netG(input_semantics), real_image)
    g_loss = -pred_fake.mean()
    g_loss.backward()
    optimizer_G.step()

    optimizer_D.zero_grad()
    d_losses = compute_discriminator_loss(input_semantics, real_image)
    d_loss = sum(d_losses.values()).mean()
    d_loss.backward()
    optimizer_D.step()
