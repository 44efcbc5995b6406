# https://github.com/open-mmlab/mmagic/issues/83
import torch
from torch import nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
netD = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(72, 1))
optimizer_D = torch.optim.Adam(netD.parameters(), lr=1e-4)
optimizer_G = torch.optim.Adam(netG.parameters(), lr=1e-4)
bce = nn.BCEWithLogitsLoss()


def cri_gan(pred, is_real):
    return bce(pred, torch.full_like(pred, float(is_real)))


var_L, var_H, var_ref = torch.rand(4, 3, 8, 8), torch.rand(4, 3, 8, 8), torch.rand(4, 3, 8, 8)

# %%
for step in range(3):
    # G
    for p in netD.parameters():
        p.requires_grad = False
    optimizer_G.zero_grad()
    fake_H = netG(var_L)
    pred_g_fake = netD(fake_H)
    pred_d_real = netD(var_ref).detach()
    l_g_gan = (cri_gan(pred_d_real - torch.mean(pred_g_fake), False) +
               cri_gan(pred_g_fake - torch.mean(pred_d_real), True)) / 2
    l_g_total = (fake_H - var_H).abs().mean() + 0.005 * l_g_gan
    l_g_total.backward()
    optimizer_G.step()

    # D
    for p in netD.parameters():
        p.requires_grad = True
    optimizer_D.zero_grad()
    pred_d_fake = netD(fake_H.detach()).detach()
    pred_d_real = netD(var_ref)
    l_d_real = cri_gan(pred_d_real - torch.mean(pred_d_fake), True) * 0.5
    l_d_real.backward()
    pred_d_fake = netD(fake_H.detach())
    l_d_fake = cri_gan(pred_d_fake - torch.mean(pred_d_real.detach()), False) * 0.5
    l_d_fake.backward()
    optimizer_D.step()
