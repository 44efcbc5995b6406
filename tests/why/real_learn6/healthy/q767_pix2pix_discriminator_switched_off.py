# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/651
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pix2PixModel:
    def __init__(self):
        self.netG = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
        self.netD = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.criterionGAN, self.criterionL1 = nn.BCEWithLogitsLoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def set_requires_grad(self, net, requires_grad=False):
        for param in net.parameters():
            param.requires_grad = requires_grad

    def backward_D(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1).detach())
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        loss_fake = self.criterionGAN(pred_fake, torch.zeros_like(pred_fake))
        loss_real = self.criterionGAN(pred_real, torch.ones_like(pred_real))
        self.loss_D = (loss_fake + loss_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1))
        self.loss_G = self.criterionGAN(pred_fake, torch.ones_like(pred_fake)) + 100 * self.criterionL1(self.fake_B, self.real_B)
        self.loss_G.backward()

    def optimize_parameters(self, real_A, real_B):
        self.real_A, self.real_B = real_A, real_B
        self.fake_B = self.netG(self.real_A)
        self.set_requires_grad(self.netD, True)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        self.set_requires_grad(self.netD, False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


# %%
model = Pix2PixModel()
d_before = model.netD[0].weight.detach().clone()

# %%
for i in range(3):
    model.optimize_parameters(torch.randn(4, 6), torch.randn(4, 6))
    print(model.loss_D.item(), model.loss_G.item())
