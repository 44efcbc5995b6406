# https://github.com/schelotto/Wasserstein-AutoEncoders/issues/11
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(123)
args = SimpleNamespace(batch_size=16, epochs=1, lr=1e-4, dim_h=16, n_z=4, LAMBDA=10, n_channel=1, sigma=1)


def free_params(module: nn.Module):
    for p in module.parameters():
        p.requires_grad = True


def frozen_params(module: nn.Module):
    for p in module.parameters():
        p.requires_grad = False


class Encoder(nn.Module):
    def __init__(self, args):
        super(Encoder, self).__init__()
        self.main = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.ReLU(True), nn.Conv2d(4, 8, 4, 2, 1, bias=False), nn.ReLU(True))
        self.fc = nn.Linear(8 * 4, args.n_z)

    def forward(self, x):
        x = self.main(x)
        return self.fc(x.flatten(1))


class Decoder(nn.Module):
    def __init__(self, args):
        super(Decoder, self).__init__()
        self.proj = nn.Sequential(nn.Linear(args.n_z, args.dim_h), nn.ReLU())
        self.main = nn.Sequential(nn.Linear(args.dim_h, 64), nn.Sigmoid())

    def forward(self, x):
        return self.main(self.proj(x)).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self, args):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(nn.Linear(args.n_z, args.dim_h), nn.ReLU(True), nn.Linear(args.dim_h, 1), nn.Sigmoid())

    def forward(self, x):
        return self.main(x)


# %%
encoder, decoder, discriminator = Encoder(args), Decoder(args), Discriminator(args)
criterion = nn.MSELoss()
enc_optim = optim.Adam(encoder.parameters(), lr=args.lr)
dec_optim = optim.Adam(decoder.parameters(), lr=args.lr)
dis_optim = optim.Adam(discriminator.parameters(), lr=0.5 * args.lr)
train_loader = [(torch.rand(args.batch_size, 1, 8, 8), None) for _ in range(2)]

one = torch.Tensor([1])
mone = one * -1

for epoch in range(args.epochs):
    for i, (images, _) in enumerate(train_loader):
        encoder.zero_grad()
        decoder.zero_grad()
        discriminator.zero_grad()

        # ======== Train Discriminator ======== #
        frozen_params(decoder)
        frozen_params(encoder)
        free_params(discriminator)
        z_fake = torch.randn(images.size()[0], args.n_z) * args.sigma
        d_fake = discriminator(z_fake)
        z_real = encoder(images)
        d_real = discriminator(z_real)
        torch.log(d_fake).mean().backward(mone)
        torch.log(1 - d_real).mean().backward(mone)
        dis_optim.step()

        # ======== Train Generator ======== #
        free_params(decoder)
        free_params(encoder)
        frozen_params(discriminator)
        z_real = encoder(images)
        x_recon = decoder(z_real)
        d_real = discriminator(encoder(Variable(images.data)))
        recon_loss = criterion(x_recon, images)
        d_loss = args.LAMBDA * (torch.log(d_real)).mean()
        recon_loss.backward(one)
        d_loss.backward(mone)
        enc_optim.step()
        dec_optim.step()
        print("Epoch: [%d/%d], Step: [%d/%d], Reconstruction Loss: %.4f" % (epoch + 1, args.epochs, i + 1, len(train_loader), recon_loss.item()))
