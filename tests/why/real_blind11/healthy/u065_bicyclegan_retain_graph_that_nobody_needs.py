# https://github.com/junyanz/BicycleGAN/issues/81
import torch
import torch.nn as nn

torch.manual_seed(0)


class BiCycleGANModel:
    def __init__(self, nz=4, lambda_z=0.5, lambda_L1=10.0):
        self.nz, self.lambda_z, self.lambda_L1 = nz, lambda_z, lambda_L1
        self.netG = nn.Sequential(nn.Linear(16 + nz, 32), nn.ReLU(), nn.Linear(32, 16))
        self.netE = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, nz))
        self.netD = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
        self.optimizer_E = torch.optim.Adam(self.netE.parameters(), lr=0.0002, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
        self.criterionL1 = nn.L1Loss()

    def forward(self):
        self.z_encoded = self.netE(self.real_B)
        self.z_random = torch.randn(self.real_A.size(0), self.nz)
        self.fake_B = self.netG(torch.cat([self.real_A, self.z_encoded], 1))
        self.fake_B_random = self.netG(torch.cat([self.real_A, self.z_random], 1))
        self.mu2 = self.netE(self.fake_B_random)

    def backward_EG(self):
        self.loss_G_GAN = ((self.netD(self.fake_B) - 1) ** 2).mean()
        self.loss_G_GAN2 = ((self.netD(self.fake_B_random) - 1) ** 2).mean()
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * self.lambda_L1
        self.loss_G = self.loss_G_GAN + self.loss_G_GAN2 + self.loss_G_L1
        self.loss_G.backward(retain_graph=True)

    def backward_G_alone(self):
        # 3, reconstruction |(E(G(A, z_random)))-z_random|
        self.loss_z_L1 = torch.mean(torch.abs(self.mu2 - self.z_random)) * self.lambda_z
        self.loss_z_L1.backward()

    def update_G_and_E(self):
        for p in self.netD.parameters():
            p.requires_grad = False
        self.optimizer_E.zero_grad()
        self.optimizer_G.zero_grad()
        self.backward_EG()
        # update G alone
        for p in self.netE.parameters():
            p.requires_grad = False
        self.backward_G_alone()
        for p in self.netE.parameters():
            p.requires_grad = True
        self.optimizer_E.step()
        self.optimizer_G.step()

    def update_D(self):
        for p in self.netD.parameters():
            p.requires_grad = True
        self.optimizer_D.zero_grad()
        loss_D = (self.netD(self.fake_B.detach()) ** 2).mean() + ((self.netD(self.real_B) - 1) ** 2).mean()
        loss_D.backward()
        self.optimizer_D.step()


# %%
model = BiCycleGANModel()
model.real_A, model.real_B = torch.randn(32, 16), torch.randn(32, 16)
generator_before = model.netG[0].weight.detach().clone()
l1 = []
for i in range(30):
    model.forward()
    model.update_G_and_E()
    model.update_D()
    l1.append(model.loss_G_L1.item())
print(l1[0], l1[-1])
assert l1[-1] < l1[0] and not torch.equal(generator_before, model.netG[0].weight)
