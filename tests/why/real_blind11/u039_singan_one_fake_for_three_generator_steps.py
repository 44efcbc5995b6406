# https://github.com/tamarott/SinGAN/issues/148
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
Gsteps, Dsteps, alpha, lambda_grad = 3, 3, 10, 0.1


def ConvBlock(in_channel, out_channel):
    return nn.Sequential(nn.Conv2d(in_channel, out_channel, 3), nn.BatchNorm2d(out_channel), nn.LeakyReLU(0.2))


class WDiscriminator(nn.Module):
    def __init__(self, nfc=16):
        super(WDiscriminator, self).__init__()
        self.body = ConvBlock(3, nfc)
        self.tail = nn.Conv2d(nfc, 1, 3)

    def forward(self, x):
        return self.tail(self.body(x))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, nfc=16):
        super(GeneratorConcatSkip2CleanAdd, self).__init__()
        self.body = ConvBlock(3, nfc)
        self.tail = nn.Sequential(nn.Conv2d(nfc, 3, 3), nn.Tanh())

    def forward(self, x, y):
        x = self.tail(self.body(x))
        return x + y[:, :, 2:-2, 2:-2]


# %%
netD, netG = WDiscriminator(), GeneratorConcatSkip2CleanAdd()
optimizerD = optim.Adam(netD.parameters(), lr=0.0005, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.0005, betas=(0.5, 0.999))
real = torch.rand(1, 3, 20, 20) * 2 - 1
z_opt, z_prev = torch.randn(1, 3, 24, 24), torch.zeros(1, 3, 24, 24)

# %%
for epoch in range(2):
    # (1) Update D network
    for j in range(Dsteps):
        noise, prev = torch.randn(1, 3, 24, 24), torch.zeros(1, 3, 24, 24)
        netD.zero_grad()
        errD_real = -netD(real).mean()
        errD_real.backward(retain_graph=True)
        fake = netG(noise.detach(), prev)
        errD_fake = netD(fake.detach()).mean()
        errD_fake.backward(retain_graph=True)
        optimizerD.step()

    # (2) Update G network: maximize D(G(z))
    for j in range(Gsteps):
        netG.zero_grad()
        output = netD(fake)  # of the generator
        errG = -output.mean()
        errG.backward(retain_graph=True)
        rec_loss = alpha * nn.functional.mse_loss(netG(z_opt.detach(), z_prev), real)
        rec_loss.backward(retain_graph=True)
        optimizerG.step()
    print(epoch, errD_real.item(), errD_fake.item(), errG.item(), rec_loss.item())
