# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/439
import torch
import torch.nn as nn


def cal_gradient_penalty(netD, real_data, fake_data, device, constant=1.0, lambda_gp=10.0):
    alpha = torch.rand(real_data.shape[0], 1, 1, 1, device=device).expand(real_data.shape)
    interpolatesv = alpha * real_data + ((1 - alpha) * fake_data)
    interpolatesv.requires_grad_(True)
    disc_interpolates = netD(interpolatesv)
    gradients = torch.autograd.grad(outputs=disc_interpolates, inputs=interpolatesv,
                                    grad_outputs=torch.ones(disc_interpolates.size()).to(device),
                                    create_graph=True, retain_graph=True, only_inputs=True)
    gradients = gradients[0].view(real_data.size(0), -1)
    return (((gradients + 1e-16).norm(2, dim=1) - constant) ** 2).mean() * lambda_gp, gradients


def wgangp(prediction, target_is_real):
    return -prediction.mean() if target_is_real else prediction.mean()


class Pix2PixModel:
    def __init__(self, n_critic=3, L_GP=10.0, lambda_L1=100.0):
        self.device = torch.device('cpu')
        self.n_critic, self.L_GP, self.lambda_L1 = n_critic, L_GP, lambda_L1
        self.netG = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.InstanceNorm2d(6), nn.ReLU(),
                                  nn.Conv2d(6, 3, 3, padding=1), nn.Tanh())
        self.netD = nn.Sequential(nn.Conv2d(6, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                                  nn.Conv2d(8, 1, 4, stride=1, padding=1))
        self.criterionGAN, self.criterionL1 = wgangp, nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def set_input(self, input):
        self.real_A, self.real_B = input['A'], input['B']

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        # Fake; stop backprop to the generator by detaching fake_B
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        pred_fake = self.netD(fake_AB.detach())
        self.loss_D_fake = self.criterionGAN(pred_fake, False)
        # Real
        real_AB = torch.cat((self.real_A, self.real_B), 1)
        pred_real = self.netD(real_AB)
        self.loss_D_real = self.criterionGAN(pred_real, True)
        # gradient penalty
        self.gradient_penalty, self.gradients = cal_gradient_penalty(
            self.netD, real_AB, fake_AB, self.device, lambda_gp=self.L_GP)
        self.loss_D = self.loss_D_fake + self.loss_D_real + self.gradient_penalty
        self.loss_D.backward()

    def backward_G(self):
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        self.loss_G_GAN = self.criterionGAN(self.netD(fake_AB), True)
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * self.lambda_L1
        self.loss_G = self.loss_G_GAN + self.loss_G_L1
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        for _ in range(self.n_critic):
            self.optimizer_D.zero_grad()
            self.backward_D()
            self.optimizer_D.step()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


# %%
model = Pix2PixModel()
model.set_input({'A': torch.rand(2, 3, 8, 8), 'B': torch.rand(2, 3, 8, 8)})

# %%
model.optimize_parameters()
