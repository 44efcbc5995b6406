# https://github.com/open-mmlab/mmagic/issues/53
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RRDBNet(nn.Module):
    def __init__(self, nf=8):
        super().__init__()
        self.conv_first = nn.Conv2d(3, nf, 3, padding=1)
        self.RDB1 = nn.Conv2d(nf, nf, 3, padding=1)
        self.conv_last = nn.Conv2d(nf, 3, 3, padding=1)

    def forward(self, x):
        fea = self.conv_first(x)
        fea = fea + 0.2 * F.leaky_relu(self.RDB1(fea), 0.2)
        return self.conv_last(F.interpolate(fea, scale_factor=2, mode='nearest'))


class Discriminator_VGG(nn.Module):
    def __init__(self, nf=8):
        super().__init__()
        self.conv0_0 = nn.Conv2d(3, nf, 3, stride=2, padding=1)
        self.linear1 = nn.Linear(nf, 1)

    def forward(self, x):
        return self.linear1(F.leaky_relu(self.conv0_0(x), 0.2).mean((2, 3)))


def cri_gan(pred, target_is_real):
    return F.binary_cross_entropy_with_logits(pred, torch.full_like(pred, float(target_is_real)))


class SRGANModel:
    def __init__(self):
        self.netG, self.netD = RRDBNet(), Discriminator_VGG()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=1e-4)
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=1e-4)
        self.log_dict = {}

    def optimize_parameters(self, var_L, var_H):
        # G
        for p in self.netD.parameters():
            p.requires_grad = False
        self.optimizer_G.zero_grad()
        self.fake_H = self.netG(var_L)
        pred_g_fake = self.netD(self.fake_H)
        pred_d_real = self.netD(var_H).detach()
        l_g_gan = 5e-3 * (cri_gan(pred_d_real - torch.mean(pred_g_fake), False) +
                          cri_gan(pred_g_fake - torch.mean(pred_d_real), True)) / 2
        l_g_total = 1e-2 * F.l1_loss(self.fake_H, var_H) + l_g_gan
        l_g_total.backward()
        self.optimizer_G.step()

        # D
        for p in self.netD.parameters():
            p.requires_grad = True
        self.optimizer_D.zero_grad()
        pred_d_fake = self.netD(self.fake_H.detach()).detach()
        pred_d_real = self.netD(var_H)
        l_d_real = cri_gan(pred_d_real - torch.mean(pred_d_fake), True) * 0.5
        l_d_real.backward()
        self.of_real = [p.grad.clone() for p in self.netD.parameters()]
        pred_d_fake = self.netD(self.fake_H.detach())
        l_d_fake = cri_gan(pred_d_fake - torch.mean(pred_d_real.detach()), False) * 0.5
        l_d_fake.backward()
        self.optimizer_D.step()
        self.log_dict.update(l_g_gan=l_g_gan.item(), l_d_real=l_d_real.item(), l_d_fake=l_d_fake.item())


# %%
model = SRGANModel()
for step in range(2):
    model.optimize_parameters(torch.rand(2, 3, 6, 6), torch.rand(2, 3, 12, 12))
    print(step, model.log_dict)
