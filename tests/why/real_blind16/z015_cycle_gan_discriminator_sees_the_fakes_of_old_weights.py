# https://github.com/cy-xu/simple_CycleGAN/issues/3
import itertools

import torch as t
import torch.nn as nn

t.manual_seed(0)


class ResnetGenerator(nn.Module):
    def __init__(self, ngf=8):
        super().__init__()
        self.head = nn.Conv2d(3, ngf, 7, padding=3)
        self.block = nn.Conv2d(ngf, ngf, 3, padding=1)
        self.tail = nn.Conv2d(ngf, 3, 7, padding=3)

    def forward(self, x):
        x = t.relu(self.head(x))
        x = x + t.relu(self.block(x))
        return t.tanh(self.tail(x))


def NLayerDiscriminator(ndf=8):
    return nn.Sequential(nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(ndf, 1, 4, 2, 1))


class GANLoss(nn.Module):
    def forward(self, prediction, target_is_real):
        return nn.functional.mse_loss(prediction, t.full_like(prediction, float(target_is_real)))


netG_x, netG_y = ResnetGenerator(), ResnetGenerator()
netD_x, netD_y = NLayerDiscriminator(), NLayerDiscriminator()
criterionGAN, criterionCycle = GANLoss(), nn.L1Loss()
optimizer_g = t.optim.Adam(itertools.chain(netG_x.parameters(), netG_y.parameters()), lr=2e-4, betas=(0.5, 0.999))
optimizer_d = t.optim.Adam(itertools.chain(netD_x.parameters(), netD_y.parameters()), lr=2e-4, betas=(0.5, 0.999))
lambda_X = lambda_Y = 10.0

# %%
for i in range(2):
    real_x, real_y = t.rand(1, 3, 16, 16) * 2 - 1, t.rand(1, 3, 16, 16) * 2 - 1

    # X -> Y' -> X^ cycle
    optimizer_g.zero_grad()
    fake_y = netG_x(real_x)
    loss_G_X = criterionGAN(netD_x(fake_y), True)
    x_hat = netG_y(fake_y)
    loss_cycle_X = criterionCycle(x_hat, real_x) * lambda_X
    loss_X = loss_G_X + loss_cycle_X
    loss_X.backward(retain_graph=True)
    optimizer_g.step()

    # Y -> X' -> Y^ cycle
    optimizer_g.zero_grad()
    fake_x = netG_y(real_y)
    loss_G_Y = criterionGAN(netD_y(fake_x), True)
    y_hat = netG_x(fake_x)
    loss_cycle_Y = criterionCycle(y_hat, real_y) * lambda_Y
    loss_Y = loss_G_Y + loss_cycle_Y
    loss_Y.backward(retain_graph=True)
    optimizer_g.step()

    # netD_x
    optimizer_d.zero_grad()
    loss_D_x_real = criterionGAN(netD_x(real_y), True)
    pred_fake = netD_x(fake_y)
    loss_D_x_fake = criterionGAN(pred_fake, False)
    loss_D_x = (loss_D_x_real + loss_D_x_fake) * 0.5
    loss_D_x.backward()
    optimizer_d.step()

    # netD_y
    optimizer_d.zero_grad()
    loss_D_y_real = criterionGAN(netD_y(real_x), True)
    pred_fake = netD_y(fake_x)
    loss_D_y_fake = criterionGAN(pred_fake, False)
    loss_D_y = (loss_D_y_real + loss_D_y_fake) * 0.5
    loss_D_y.backward()
    optimizer_d.step()
    print(i, loss_X.item(), loss_Y.item(), loss_D_x.item(), loss_D_y.item())
