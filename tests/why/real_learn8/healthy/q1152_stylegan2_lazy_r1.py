# https://github.com/rosinality/stylegan2-pytorch/blob/master/train.py
import math

import torch
from torch import autograd, nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(latent, latent), nn.LeakyReLU(0.2))
        self.conv = nn.ConvTranspose2d(latent, 3, 4)

    def forward(self, noise, return_latents=False):
        latents = self.style(noise).unsqueeze(1).repeat(1, 2, 1)
        image = torch.tanh(self.conv(latents.mean(1)[:, :, None, None]))
        return (image, latents) if return_latents else (image, None)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def accumulate(model1, model2, decay=0.999):
    par1, par2 = dict(model1.named_parameters()), dict(model2.named_parameters())
    for k in par1.keys():
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


def d_r1_loss(real_pred, real_img):
    (grad_real,) = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def g_path_regularize(fake_img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake_img) / math.sqrt(fake_img.shape[2] * fake_img.shape[3])
    (grad,) = autograd.grad(outputs=(fake_img * noise).sum(), inputs=latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(2).mean(1))
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    path_penalty = (path_lengths - path_mean).pow(2).mean()
    return path_penalty, path_mean.detach(), path_lengths


generator, g_ema = Generator(), Generator()
discriminator = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32, 1))
g_ema.eval()
accumulate(g_ema, generator, 0)
g_optim = optim.Adam(generator.parameters(), lr=0.002, betas=(0.0, 0.99))
d_optim = optim.Adam(discriminator.parameters(), lr=0.002, betas=(0.0, 0.99))
before = discriminator[0].weight.detach().clone()

# %%
mean_path_length, r1_loss, path_loss, loss_dict = 0, torch.tensor(0.0), torch.tensor(0.0), {}
for i in range(3):
    real_img = torch.randn(4, 3, 4, 4)
    requires_grad(generator, False)
    requires_grad(discriminator, True)
    fake_img, _ = generator(torch.randn(4, 8))
    fake_pred = discriminator(fake_img)
    real_pred = discriminator(real_img)
    d_loss = F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()
    loss_dict["d"] = d_loss
    discriminator.zero_grad()
    d_loss.backward()
    d_optim.step()
    if i % 2 == 0:
        real_img.requires_grad = True
        real_pred = discriminator(real_img)
        r1_loss = d_r1_loss(real_pred, real_img)
        discriminator.zero_grad()
        (10 / 2 * r1_loss * 2 + 0 * real_pred[0]).backward()
        d_optim.step()
    loss_dict["r1"] = r1_loss

    requires_grad(generator, True)
    requires_grad(discriminator, False)
    fake_img, _ = generator(torch.randn(4, 8))
    fake_pred = discriminator(fake_img)
    g_loss = F.softplus(-fake_pred).mean()
    loss_dict["g"] = g_loss
    generator.zero_grad()
    g_loss.backward()
    g_optim.step()
    if i % 2 == 0:
        fake_img, latents = generator(torch.randn(2, 8), return_latents=True)
        path_loss, mean_path_length, path_lengths = g_path_regularize(
            fake_img, latents, mean_path_length
        )
        generator.zero_grad()
        weighted_path_loss = 2 * 2 * path_loss
        weighted_path_loss += 0 * fake_img[0, 0, 0, 0]
        weighted_path_loss.backward()
        g_optim.step()
    loss_dict["path"] = path_loss
    accumulate(g_ema, generator)
    print({k: v.mean().item() for k, v in loss_dict.items()}, float(mean_path_length))
with torch.no_grad():
    g_ema.eval()
    sample, _ = g_ema(torch.randn(4, 8))
