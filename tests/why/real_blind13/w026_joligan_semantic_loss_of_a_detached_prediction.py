# https://github.com/jolibrain/joliGEN/pull/20
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return self.layers(x)


class Discriminator(nn.Module):
    def __init__(self, outputs=1):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 16, outputs))

    def forward(self, x):
        return self.layers(x)


class SemanticGANModel:
    def __init__(self, lambda_sem=1.0):
        self.netG, self.netD, self.netf_s = Generator(), Discriminator(), Discriminator(outputs=4)
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_f_s = torch.optim.Adam(self.netf_s.parameters(), lr=2e-4)
        self.lambda_sem = lambda_sem

    def set_input(self, real_A, real_B, label_A):
        self.real_A, self.real_B, self.input_A_label = real_A, real_B, label_A

    def forward(self):
        self.fake_B = self.netG(self.real_A)
        self.pred_real_A = self.netf_s(self.real_A)
        self.pfB = self.netf_s(self.fake_B).detach()

    def backward_G(self):
        fake = self.netD(self.fake_B)
        self.loss_G_A = F.mse_loss(fake, torch.ones_like(fake))
        self.loss_sem = self.lambda_sem * F.cross_entropy(self.pfB, self.input_A_label)
        self.loss_G = self.loss_G_A + self.loss_sem
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.optimizer_f_s.zero_grad()
        F.cross_entropy(self.pred_real_A, self.input_A_label).backward()
        self.optimizer_f_s.step()
        self.optimizer_D.zero_grad()
        real, fake = self.netD(self.real_B), self.netD(self.fake_B.detach())
        loss_D = F.mse_loss(real, torch.ones_like(real)) + F.mse_loss(fake, torch.zeros_like(fake))
        loss_D.backward()
        self.optimizer_D.step()


def make_pictures(n):
    labels = torch.randint(0, 4, (n,))
    pictures = -torch.ones(n, 1, 8, 8)
    for k, c in enumerate(labels.tolist()):
        pictures[k, 0, 4 * (c // 2):4 * (c // 2) + 4, 4 * (c % 2):4 * (c % 2) + 4] = 1
    return pictures, labels


# %%
model = SemanticGANModel()
for i in range(20):
    real_A, label_A = make_pictures(8)
    real_B, _ = make_pictures(8)
    model.set_input(real_A, -real_B, label_A)
    model.optimize_parameters()
print(model.loss_G_A.item(), model.loss_sem.item())
