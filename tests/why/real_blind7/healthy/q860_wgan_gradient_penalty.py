# https://github.com/caogang/wgan-gp/blob/master/gan_toy.py
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
LAMBDA, BATCH_SIZE = .1, 16
netG = nn.Sequential(nn.Linear(2, 32), nn.ReLU(True), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.ReLU(True), nn.Linear(32, 1))
optimizerD = optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9))
before = netD[0].weight.detach().clone()


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1).expand(real_data.size())
    interpolates = (alpha * real_data + ((1 - alpha) * fake_data)).detach().requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(outputs=disc_interpolates, inputs=interpolates, grad_outputs=torch.ones(disc_interpolates.size()),
                                    create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


# %%
for iter_d in range(3):
    real_data = torch.randn(BATCH_SIZE, 2) + 2
    netD.zero_grad()
    # train with real
    D_real = netD(real_data).mean()
    (-D_real).backward()
    # train with fake
    with torch.no_grad():
        fake = netG(torch.randn(BATCH_SIZE, 2))  # totally freeze netG
    D_fake = netD(fake).mean()
    D_fake.backward()
    # train with gradient penalty
    gradient_penalty = calc_gradient_penalty(netD, real_data, fake)
    gradient_penalty.backward()
    D_cost = D_fake - D_real + gradient_penalty
    optimizerD.step()
    print(D_cost.item())
