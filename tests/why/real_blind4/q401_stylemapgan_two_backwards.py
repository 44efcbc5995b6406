# https://github.com/naver-ai/StyleMapGAN/issues/16
from types import SimpleNamespace

import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)
args = SimpleNamespace(batch=4, latent_channel_size=6, lambda_adv_loss=1, lambda_w_rec_loss=1, lambda_x_rec_loss=1, lr=0.002, iter=2)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def g_nonsaturating_loss(fake_pred):
    return F.softplus(-fake_pred).mean()


class Generator(nn.Module):
    def __init__(self, size=8, channel=6):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(channel, 16), nn.LeakyReLU(0.2), nn.Linear(16, channel))
        self.synthesis = nn.Sequential(nn.Linear(channel, 32), nn.LeakyReLU(0.2), nn.Linear(32, 3 * size * size))
        self.size = size

    def forward(self, input, input_is_stylecode=False, return_stylecode=False):
        stylecode = input if input_is_stylecode else self.mapping(input)
        image = self.synthesis(stylecode).view(-1, 3, self.size, self.size)
        return (image, stylecode) if return_stylecode else image


class DDPModel(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.generator = Generator(channel=args.latent_channel_size)
        self.discriminator = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, args.latent_channel_size))

    def forward(self, real_img, mode):
        if mode == "G":
            z = torch.randn(args.batch, args.latent_channel_size)
            fake_img, stylecode = self.generator(z, return_stylecode=True)
            fake_pred = self.discriminator(fake_img)
            adv_loss = g_nonsaturating_loss(fake_pred)
            fake_stylecode = self.encoder(fake_img)
            w_rec_loss = F.mse_loss(stylecode, fake_stylecode)
            return adv_loss, w_rec_loss, stylecode
        elif mode == "D":
            with torch.no_grad():
                z = torch.randn(args.batch, args.latent_channel_size)
                fake_img = self.generator(z)
            return d_logistic_loss(self.discriminator(real_img), self.discriminator(fake_img))


# %%
model = DDPModel(args)
g_optim = optim.Adam(list(model.generator.parameters()) + list(model.encoder.parameters()), lr=args.lr, betas=(0.0, 0.99))
d_optim = optim.Adam(model.discriminator.parameters(), lr=args.lr, betas=(0.0, 0.99))

# %%
for i in range(args.iter):
    real_img = torch.rand(args.batch, 3, 8, 8) * 2 - 1
    requires_grad(model.discriminator, True)
    d_loss = model(real_img, "D") * args.lambda_adv_loss
    d_optim.zero_grad()
    d_loss.backward()
    d_optim.step()

    requires_grad(model.discriminator, False)
    adv_loss, w_rec_loss, stylecode = model(None, "G")
    adv_loss = adv_loss.mean()
    w_rec_loss = w_rec_loss.mean()
    g_loss = adv_loss * args.lambda_adv_loss
    g_optim.zero_grad()
    g_loss.backward()
    (w_rec_loss * args.lambda_w_rec_loss).backward()
    g_optim.step()
    print(i, d_loss.item(), g_loss.item(), w_rec_loss.item())
