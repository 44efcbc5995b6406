# https://github.com/tamarott/SinGAN/pull/117
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
opt = SimpleNamespace(niter=2, Dsteps=2, Gsteps=2, lr_d=5e-4, lr_g=5e-4, beta1=0.5, alpha=10)


class ConvBlock(nn.Sequential):
    def __init__(self, in_channel, out_channel):
        super(ConvBlock, self).__init__()
        self.add_module('conv', nn.Conv2d(in_channel, out_channel, 3, 1, 1))
        self.add_module('norm', nn.BatchNorm2d(out_channel))
        self.add_module('LeakyRelu', nn.LeakyReLU(0.2))


class WDiscriminator(nn.Module):
    def __init__(self, nfc=8):
        super(WDiscriminator, self).__init__()
        self.head = ConvBlock(3, nfc)
        self.body = ConvBlock(nfc, nfc)
        self.tail = nn.Conv2d(nfc, 1, 3, 1, 1)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, nfc=8):
        super(GeneratorConcatSkip2CleanAdd, self).__init__()
        self.head = ConvBlock(3, nfc)
        self.body = ConvBlock(nfc, nfc)
        self.tail = nn.Sequential(nn.Conv2d(nfc, 3, 3, 1, 1), nn.Tanh())

    def forward(self, x, y):
        x = self.tail(self.body(self.head(x)))
        return x + y


# %%
netD, netG = WDiscriminator(), GeneratorConcatSkip2CleanAdd()
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr_d, betas=(opt.beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr_g, betas=(opt.beta1, 0.999))
real = torch.rand(1, 3, 12, 12) * 2 - 1
z_opt = torch.randn(1, 3, 12, 12)
z_prev = torch.zeros(1, 3, 12, 12)


def train_single_scale(netD, netG, real):
    global adv_grad
    for epoch in range(opt.niter):
        noise_ = torch.randn(1, 3, 12, 12)
        ############################
        # (1) Update D network: maximize D(x) + D(G(z))
        ###########################
        for j in range(opt.Dsteps):
            # train with real
            netD.zero_grad()
            output = netD(real)
            errD_real = -output.mean()
            errD_real.backward()
            # train with fake
            prev = torch.zeros(1, 3, 12, 12)
            noise = 0.1 * noise_ + prev
            fake = netG(noise.detach(), prev)
            output = netD(fake.detach())  # for D
            errD_fake = output.mean()
            errD_fake.backward()
            optimizerD.step()

        ############################
        # (2) Update G network: maximize D(G(z))
        ###########################
        for j in range(opt.Gsteps):
            netG.zero_grad()
            output = netD(fake.detach())  # for G
            errG = -output.mean()
            adv_grad, = torch.autograd.grad(errG, netG.tail[0].weight, retain_graph=True, allow_unused=True)  # for a look
            errG.backward()
            loss = nn.MSELoss()
            Z_opt = 0.1 * z_opt + z_prev
            rec_loss = opt.alpha * loss(netG(Z_opt.detach(), z_prev), real)
            rec_loss.backward()
            optimizerG.step()
        print(epoch, errD_real.item() + errD_fake.item(), errG.item(), rec_loss.item())


train_single_scale(netD, netG, real)
