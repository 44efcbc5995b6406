# https://github.com/9310gaurav/ali-pytorch/issues/5
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
latent_size, lr = 4, 1e-3


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.infer_x = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.02))
        self.infer_z = nn.Sequential(nn.Linear(latent_size, 32), nn.LeakyReLU(0.02))
        self.final = nn.Linear(64, 1)

    def forward(self, x, z):
        return torch.sigmoid(self.final(torch.cat([self.infer_x(x), self.infer_z(z)], dim=1)))


# %%
netE = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.02), nn.Linear(32, latent_size))
netG = nn.Sequential(nn.Linear(latent_size, 32), nn.ReLU(), nn.Linear(32, 16))
netD = Discriminator()
optimizerG = optim.Adam([{'params': netE.parameters()},
                         {'params': netG.parameters()}], lr=lr, betas=(0.5, 0.999))
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
criterion = nn.BCELoss()
data = torch.randn(64, 16)
encoder_before = netE[0].weight.detach().clone()

# %%
for epoch in range(5):
    real_label, fake_label = torch.ones(64, 1), torch.zeros(64, 1)
    d_real = data
    z_fake = torch.randn(64, latent_size)
    d_fake = netG(z_fake)
    z_real = netE(d_real)

    output_real = netD(d_real, z_real.detach())
    output_fake = netD(d_fake.detach(), z_fake)
    loss_d = criterion(output_real, real_label) + criterion(output_fake, fake_label)
    optimizerD.zero_grad()
    loss_d.backward()
    optimizerD.step()

    output_real = netD(d_real, z_real)
    output_fake = netD(d_fake, z_fake)
    loss_g = criterion(output_fake, real_label) + criterion(output_real, fake_label)
    optimizerG.zero_grad()
    loss_g.backward()
    optimizerG.step()
    print(epoch, loss_d.item(), loss_g.item())
assert not torch.equal(netE[0].weight, encoder_before)
assert netE[0].weight.grad.abs().sum() > 0 and netG[0].weight.grad.abs().sum() > 0
