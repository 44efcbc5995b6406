# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/344
import torch
import torch.nn as nn

torch.manual_seed(0)


class Pix2PixModel:
    def __init__(self):
        self.netG = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(True), nn.Conv2d(16, 3, 3, 1, 1), nn.Tanh())
        self.netD = nn.Sequential(nn.Conv2d(6, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 1, 4, 1, 1))
        self.criterionGAN, self.criterionL1 = nn.MSELoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=0.0002, betas=(0.5, 0.999))

    def set_requires_grad(self, net, requires_grad=False):
        for param in net.parameters():
            param.requires_grad = requires_grad

    def backward_D(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1).detach())
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        self.loss_D = (self.criterionGAN(pred_fake, torch.zeros_like(pred_fake))
                       + self.criterionGAN(pred_real, torch.ones_like(pred_real))) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1))
        self.loss_G_GAN = self.criterionGAN(pred_fake, torch.ones_like(pred_fake))
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * 100
        self.loss_G = self.loss_G_GAN + self.loss_G_L1
        self.loss_G.backward()

    def optimize_parameters(self):
        self.fake_B = self.netG(self.real_A)
        # update D
        self.set_requires_grad(self.netD, True)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        # update G
        self.set_requires_grad(self.netD, False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


# %%
model = Pix2PixModel()
model.real_A, model.real_B = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)
l1 = []
for i in range(10):
    model.optimize_parameters()
    l1.append(model.loss_G_L1.item())
print(l1[0], l1[-1])
assert l1[-1] < l1[0] and model.netG[0].weight.grad.abs().sum() > 0
