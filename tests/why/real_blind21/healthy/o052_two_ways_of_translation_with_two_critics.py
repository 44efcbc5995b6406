# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/916
import itertools

import torch
import torch.nn as nn

torch.manual_seed(0)


class GANLoss(nn.Module):
    def __init__(self):
        super(GANLoss, self).__init__()
        self.register_buffer('real_label', torch.tensor(1.0))
        self.register_buffer('fake_label', torch.tensor(0.0))
        self.loss = nn.MSELoss()

    def __call__(self, prediction, target_is_real):
        target = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target.expand_as(prediction))


def define_G():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(True),
                         nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(True), nn.Conv2d(8, 1, 3, padding=1), nn.Tanh())


def define_D():
    return nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(8, 1, 4, 2, 1))


class CycleGANModel:
    def __init__(self):
        self.netG_A, self.netG_B = define_G(), define_G()
        self.netD_A, self.netD_B = define_D(), define_D()
        self.criterionGAN, self.criterionCycle = GANLoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=2e-3, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=2e-3, betas=(0.5, 0.999))

    def set_requires_grad(self, nets, requires_grad=False):
        for net in nets:
            for param in net.parameters():
                param.requires_grad = requires_grad

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D_basic(self, netD, real, fake):
        pred_real = netD(real)
        loss_D_real = self.criterionGAN(pred_real, True)
        pred_fake = netD(fake.detach())
        loss_D_fake = self.criterionGAN(pred_fake, False)
        loss_D = (loss_D_real + loss_D_fake) * 0.5
        loss_D.backward()
        return loss_D

    def backward_G(self, lambda_cycle=10.0):
        self.loss_G_A = self.criterionGAN(self.netD_A(self.fake_B), True)
        self.loss_G_B = self.criterionGAN(self.netD_B(self.fake_A), True)
        self.loss_cycle = self.criterionCycle(self.rec_A, self.real_A) + self.criterionCycle(self.rec_B, self.real_B)
        self.loss_G = self.loss_G_A + self.loss_G_B + lambda_cycle * self.loss_cycle
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.set_requires_grad([self.netD_A, self.netD_B], False)  # Ds require no gradients when optimizing Gs
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(self.netD_A, self.real_B, self.fake_B)
        self.loss_D_B = self.backward_D_basic(self.netD_B, self.real_A, self.fake_A)
        self.optimizer_D.step()


# %%
model = CycleGANModel()
cycle, before = [], [p.detach().clone() for p in itertools.chain(model.netG_A.parameters(), model.netD_A.parameters())]
for step in range(80):
    base = torch.nn.functional.interpolate(torch.rand(8, 1, 4, 4) * 2 - 1, size=16, mode='bilinear')
    model.real_A, model.real_B = base, -base.flip(0)
    model.optimize_parameters()
    cycle.append(model.loss_cycle.item())

# %%
after = itertools.chain(model.netG_A.parameters(), model.netD_A.parameters())
moved = [not torch.equal(a, b) for a, b in zip(before, after)]
print(cycle[0], cycle[-1], model.loss_D_A.item(), model.loss_G_A.item())
assert all(moved) and cycle[-1] < 0.5 * cycle[0]
