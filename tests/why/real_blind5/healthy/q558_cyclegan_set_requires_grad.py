# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/594
import itertools

import torch
import torch.nn as nn

torch.manual_seed(0)


def G():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1), nn.Tanh())


def D():
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3, 1, 1))


netG_A, netG_B, netD_A, netD_B = G(), G(), D(), D()
criterionGAN, criterionCycle = nn.MSELoss(), nn.L1Loss()
optimizer_G = torch.optim.Adam(itertools.chain(netG_A.parameters(), netG_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(itertools.chain(netD_A.parameters(), netD_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
lambda_A = lambda_B = 10.0


# %%
def set_requires_grad(nets, requires_grad=False):
    for net in nets:
        for param in net.parameters():
            param.requires_grad = requires_grad


def gan_loss(pred, real):
    return criterionGAN(pred, torch.full_like(pred, float(real)))


def backward_D_basic(netD, real, fake):
    loss_D = (gan_loss(netD(real), True) + gan_loss(netD(fake.detach()), False)) * 0.5
    loss_D.backward()
    return loss_D


def optimize_parameters(real_A, real_B):
    # forward
    fake_B, fake_A = netG_A(real_A), netG_B(real_B)
    rec_A, rec_B = netG_B(fake_B), netG_A(fake_A)
    # G_A and G_B
    set_requires_grad([netD_A, netD_B], False)
    optimizer_G.zero_grad()
    loss_G = gan_loss(netD_A(fake_B), True) + gan_loss(netD_B(fake_A), True)
    loss_G = loss_G + criterionCycle(rec_A, real_A) * lambda_A + criterionCycle(rec_B, real_B) * lambda_B
    loss_G.backward()
    optimizer_G.step()
    # D_A and D_B
    set_requires_grad([netD_A, netD_B], True)
    optimizer_D.zero_grad()
    loss_D_A = backward_D_basic(netD_A, real_B, fake_B)
    loss_D_B = backward_D_basic(netD_B, real_A, fake_A)
    optimizer_D.step()
    return loss_G.item(), loss_D_A.item(), loss_D_B.item()


# %%
D_before = netD_A[0].weight.detach().clone()
for i in range(3):
    print(i, optimize_parameters(torch.rand(2, 3, 8, 8) * 2 - 1, torch.rand(2, 3, 8, 8) * 2 - 1))
