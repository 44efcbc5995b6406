# https://github.com/tamarott/SinGAN/pull/126
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
opt = SimpleNamespace(niter=2, Dsteps=3, Gsteps=3, lr_d=5e-4, lr_g=5e-4, beta1=0.5, lambda_grad=0.1, alpha=10, noise_amp=1.0)


class ConvBlock(nn.Sequential):
    def __init__(self, in_channel, out_channel):
        super(ConvBlock, self).__init__()
        self.add_module('conv', nn.Conv2d(in_channel, out_channel, 3, padding=1))
        self.add_module('norm', nn.BatchNorm2d(out_channel))
        self.add_module('LeakyRelu', nn.LeakyReLU(0.2, inplace=True))


class WDiscriminator(nn.Module):
    def __init__(self, N=8):
        super(WDiscriminator, self).__init__()
        self.head, self.body, self.tail = ConvBlock(3, N), ConvBlock(N, N), nn.Conv2d(N, 1, 3, padding=1)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, N=8):
        super(GeneratorConcatSkip2CleanAdd, self).__init__()
        self.head, self.body = ConvBlock(3, N), ConvBlock(N, N)
        self.tail = nn.Sequential(nn.Conv2d(N, 3, 3, padding=1), nn.Tanh())

    def forward(self, x, y):
        return self.tail(self.body(self.head(x))) + y


def calc_gradient_penalty(netD, real_data, fake_data, LAMBDA):
    alpha = torch.rand(1, 1, 1, 1)
    interpolates = (alpha * real_data + (1 - alpha) * fake_data).detach().requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(disc_interpolates, interpolates, torch.ones_like(disc_interpolates),
                                    create_graph=True, retain_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


# %%
netD, netG = WDiscriminator(), GeneratorConcatSkip2CleanAdd()
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr_d, betas=(opt.beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr_g, betas=(opt.beta1, 0.999))
real, prev = torch.rand(1, 3, 12, 12) * 2 - 1, torch.zeros(1, 3, 12, 12)
z_opt, z_prev = torch.randn(1, 3, 12, 12), torch.zeros(1, 3, 12, 12)

# %%
# train_single_scale
for epoch in range(opt.niter):
    noise = opt.noise_amp * torch.randn(1, 3, 12, 12) + prev

    # (1) Update D network: maximize D(x) + D(G(z))
    for j in range(opt.Dsteps):
        netD.zero_grad()
        errD_real = -netD(real).mean()
        errD_real.backward(retain_graph=True)
        fake = netG(noise.detach(), prev)
        errD_fake = netD(fake.detach()).mean()
        errD_fake.backward(retain_graph=True)
        gradient_penalty = calc_gradient_penalty(netD, real, fake, opt.lambda_grad)
        gradient_penalty.backward()
        optimizerD.step()

    # (2) Update G network: maximize D(G(z))
    for j in range(opt.Gsteps):
        netG.zero_grad()
        output = netD(fake)
        errG = -output.mean()
        errG.backward(retain_graph=True)
        Z_opt = opt.noise_amp * z_opt + z_prev
        rec_loss = opt.alpha * nn.MSELoss()(netG(Z_opt.detach(), z_prev), real)
        rec_loss.backward(retain_graph=True)
        optimizerG.step()
    print('[%d/%d]' % (epoch, opt.niter))
