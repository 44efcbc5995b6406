# https://github.com/NVlabs/denoising-diffusion-gan/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

netG, netD = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3)
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3)
before = netG.weight.detach().clone()

# %%
for iteration in range(3):
    for p in netD.parameters():
        p.requires_grad = True
    netD.zero_grad()
    errD_real = F.softplus(-netD(torch.randn(16, 8))).mean()
    errD_real.backward()
    errD_fake = F.softplus(netD(netG(torch.randn(16, 4)).detach())).mean()
    errD_fake.backward()
    optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    errG = F.softplus(-netD(netG(torch.randn(16, 4)))).mean()
    errG.backward()
    optimizerG.step()
    print(errD_real.item(), errG.item())
