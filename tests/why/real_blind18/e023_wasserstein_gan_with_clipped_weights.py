# https://github.com/eriklindernoren/PyTorch-GAN/issues/6
from argparse import Namespace

import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
np.random.seed(0)

opt = Namespace(n_epochs=2, batch_size=16, lr=2e-4, latent_dim=100, img_size=28, channels=1, n_critic=5, clip_value=0.01)
Tensor = torch.FloatTensor


def block(n_in, n_out, normalize=True):
    layers = [nn.Linear(n_in, n_out)]
    if normalize:
        layers.append(nn.BatchNorm1d(n_out))
    return layers + [nn.LeakyReLU(0.2, inplace=True)]


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        pixels = opt.channels * opt.img_size ** 2
        self.model = nn.Sequential(
            *block(opt.latent_dim, 128, normalize=False), *block(128, 256), nn.Linear(256, pixels), nn.Tanh())

    def forward(self, noise):
        return self.model(noise).view(-1, opt.channels, opt.img_size, opt.img_size)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        pixels = opt.channels * opt.img_size ** 2
        self.model = nn.Sequential(
            *block(pixels, 256, normalize=False), *block(256, 64, normalize=False), nn.Linear(64, 1))

    def forward(self, img):
        return self.model(img.flatten(1))


generator = Generator()
discriminator = Discriminator()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=opt.lr, betas=(0.5, 0.999))

digits = torch.rand(10 * opt.batch_size, opt.channels, opt.img_size, opt.img_size) * 2 - 1
mnist_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(digits, torch.zeros(len(digits))), batch_size=opt.batch_size, shuffle=True)


def sample_noise(n):
    return Variable(Tensor(np.random.normal(0, 1, (n, opt.latent_dim))))


# %%
for epoch in range(opt.n_epochs):
    data_iter = iter(mnist_loader)

    for i in range(len(mnist_loader) // opt.n_critic):

        # several steps of the critic
        for _ in range(opt.n_critic):
            imgs, _ = next(data_iter)
            n = imgs.size(0)
            valid = Variable(-torch.ones(n, 1), requires_grad=False)
            fake = Variable(torch.ones(n, 1), requires_grad=False)

            optimizer_D.zero_grad()
            fake_imgs = generator(sample_noise(n))

            real_validity = discriminator(Variable(imgs))
            real_validity.backward(valid)

            fake_validity = discriminator(fake_imgs)
            fake_validity.backward(fake)

            optimizer_D.step()
            d_loss = fake_validity.mean() - real_validity.mean()

            for p in discriminator.parameters():
                p.data.clamp_(-opt.clip_value, opt.clip_value)

        # one step of the generator
        optimizer_G.zero_grad()
        gen_imgs = generator(sample_noise(n))

        gen_validity = discriminator(fake_imgs)
        gen_validity.backward(valid)

        optimizer_G.step()
        print("epoch %d, batch %d: D loss %f, G loss %f" % (epoch, i, d_loss.item(), -gen_validity.mean().item()))
