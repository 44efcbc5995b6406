# https://github.com/tamarott/SinGAN/issues/59
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class ConvBlock(nn.Sequential):
    def __init__(self, in_channel, out_channel, ker_size=3, padd=0, stride=1):
        super(ConvBlock, self).__init__()
        self.add_module('conv', nn.Conv2d(in_channel, out_channel, kernel_size=ker_size, stride=stride, padding=padd))
        self.add_module('norm', nn.BatchNorm2d(out_channel))
        self.add_module('LeakyRelu', nn.LeakyReLU(0.2, inplace=True))


class WDiscriminator(nn.Module):
    def __init__(self, nfc=16):
        super(WDiscriminator, self).__init__()
        self.head = ConvBlock(3, nfc)
        self.body = nn.Sequential(ConvBlock(nfc, nfc))
        self.tail = nn.Conv2d(nfc, 1, kernel_size=3, stride=1, padding=0)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, nfc=16):
        super(GeneratorConcatSkip2CleanAdd, self).__init__()
        self.head = ConvBlock(3, nfc)
        self.tail = nn.Sequential(nn.Conv2d(nfc, 3, kernel_size=3, stride=1, padding=0), nn.Tanh())

    def forward(self, x, y):
        x = self.tail(self.head(x))
        ind = int((y.shape[2] - x.shape[2]) / 2)
        y = y[:, :, ind:(y.shape[2] - ind), ind:(y.shape[3] - ind)]
        return x + y


def calc_gradient_penalty(netD, real_data, fake_data, LAMBDA, device):
    alpha = torch.rand(1, 1)
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = torch.autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                                    grad_outputs=torch.ones(disc_interpolates.size()).to(device),
                                    create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA
    return gradient_penalty


# %%
device = torch.device('cpu')
real = torch.nn.functional.interpolate(torch.rand(1, 3, 6, 6) * 2 - 1, size=24, mode='bilinear')
netD, netG = WDiscriminator(), GeneratorConcatSkip2CleanAdd()
optimizerD = optim.Adam(netD.parameters(), lr=0.002, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.002, betas=(0.5, 0.999))
z_opt = torch.randn(1, 3, 28, 28)
penalties, rec_losses = [], []

# %%
for epoch in range(60):
    noise = torch.randn(1, 3, 28, 28)
    for j in range(3):
        netD.zero_grad()
        errD_real = -netD(real).mean()
        errD_real.backward(retain_graph=True)
        fake = netG(noise.detach(), torch.zeros(1, 3, 28, 28))
        errD_fake = netD(fake.detach()).mean()
        errD_fake.backward(retain_graph=True)
        gradient_penalty = calc_gradient_penalty(netD, real, fake.detach(), 0.1, device)
        gradient_penalty.backward()
        optimizerD.step()
    for j in range(3):
        netG.zero_grad()
        errG = -netD(netG(noise, torch.zeros(1, 3, 28, 28))).mean()
        errG.backward(retain_graph=True)
        rec_loss = 10 * nn.functional.mse_loss(netG(z_opt, torch.zeros(1, 3, 28, 28)), real)
        rec_loss.backward(retain_graph=True)
        optimizerG.step()
    penalties.append(gradient_penalty.item())
    rec_losses.append(rec_loss.item())

# %%
wants = [p.grad is not None and bool(torch.isfinite(p.grad).all()) for p in netD.parameters()]
print(penalties[0], penalties[-1], rec_losses[0], rec_losses[-1])
assert all(wants) and rec_losses[-1] < 0.9 * rec_losses[0] and penalties[-1] < 10.0
