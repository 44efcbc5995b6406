# https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/blob/master/models/cycle_gan_model.py
import itertools
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class ImagePool:
    def __init__(self, pool_size):
        self.pool_size, self.num_imgs, self.images = pool_size, 0, []

    def query(self, images):
        return_images = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if self.num_imgs < self.pool_size:
                self.num_imgs += 1
                self.images.append(image)
                return_images.append(image)
            elif random.uniform(0, 1) > 0.5:
                random_id = random.randint(0, self.pool_size - 1)
                return_images.append(self.images[random_id].clone())
                self.images[random_id] = image
            else:
                return_images.append(image)
        return torch.cat(return_images, 0)


class GANLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("real_label", torch.tensor(1.0))
        self.register_buffer("fake_label", torch.tensor(0.0))
        self.loss = nn.MSELoss()

    def __call__(self, prediction, target_is_real):
        target_tensor = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target_tensor.expand_as(prediction))


class CycleGANModel:
    def __init__(self):
        self.netG_A = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.InstanceNorm2d(4),
            nn.ReLU(True),
            nn.Conv2d(4, 3, 3, padding=1),
            nn.Tanh(),
        )
        self.netG_B = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.InstanceNorm2d(4),
            nn.ReLU(True),
            nn.Conv2d(4, 3, 3, padding=1),
            nn.Tanh(),
        )
        self.netD_A = nn.Sequential(
            nn.Conv2d(3, 4, 4, 2), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 3)
        )
        self.netD_B = nn.Sequential(
            nn.Conv2d(3, 4, 4, 2), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 3)
        )
        self.fake_A_pool, self.fake_B_pool = ImagePool(3), ImagePool(3)
        self.criterionGAN, self.criterionCycle, self.criterionIdt = (
            GANLoss(),
            nn.L1Loss(),
            nn.L1Loss(),
        )
        self.optimizer_G = torch.optim.Adam(
            itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()),
            lr=2e-4,
            betas=(0.5, 0.999),
        )
        self.optimizer_D = torch.optim.Adam(
            itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()),
            lr=2e-4,
            betas=(0.5, 0.999),
        )

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
        loss_D_real = self.criterionGAN(netD(real), True)
        loss_D_fake = self.criterionGAN(netD(fake.detach()), False)
        loss_D = (loss_D_real + loss_D_fake) * 0.5
        loss_D.backward()
        return loss_D

    def backward_G(self):
        self.loss_idt_A = self.criterionIdt(self.netG_A(self.real_B), self.real_B) * 5.0
        self.loss_idt_B = self.criterionIdt(self.netG_B(self.real_A), self.real_A) * 5.0
        self.loss_G_A = self.criterionGAN(self.netD_A(self.fake_B), True)
        self.loss_G_B = self.criterionGAN(self.netD_B(self.fake_A), True)
        self.loss_cycle_A = self.criterionCycle(self.rec_A, self.real_A) * 10.0
        self.loss_cycle_B = self.criterionCycle(self.rec_B, self.real_B) * 10.0
        self.loss_G = (
            self.loss_G_A
            + self.loss_G_B
            + self.loss_cycle_A
            + self.loss_cycle_B
            + self.loss_idt_A
            + self.loss_idt_B
        )
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(
            self.netD_A, self.real_B, self.fake_B_pool.query(self.fake_B)
        )
        self.loss_D_B = self.backward_D_basic(
            self.netD_B, self.real_A, self.fake_A_pool.query(self.fake_A)
        )
        self.optimizer_D.step()


model = CycleGANModel()
before = model.netG_A[0].weight.detach().clone()

# %%
for total_iters in range(4):
    model.real_A, model.real_B = torch.randn(1, 3, 8, 8), torch.randn(1, 3, 8, 8)
    model.optimize_parameters()
    print(
        {
            name: float(getattr(model, "loss_" + name))
            for name in ["D_A", "G_A", "cycle_A", "idt_A", "D_B", "G_B", "cycle_B", "idt_B"]
        }
    )
