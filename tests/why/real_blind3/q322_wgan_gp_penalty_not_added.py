# https://github.com/LixiangHan/GANs-for-1D-Signal/issues/7
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
beta1, p_coeff, n_critic, lr, nz, batch_size = 0.5, 10, 5, 1e-4, 8, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose1d(nz, 8, 4), nn.ReLU(True),
            nn.ConvTranspose1d(8, 4, 4, 2, 1), nn.ReLU(True),
            nn.ConvTranspose1d(4, 1, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv1d(1, 4, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv1d(4, 8, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv1d(8, 1, 4))

    def forward(self, x):
        return self.main(x)


# %%
netD, netG = Discriminator(), Generator()
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))
dataloader = [torch.sin(torch.linspace(0, 6, 16) + torch.rand(batch_size, 1, 1)) for _ in range(2)]

# %%
for step, real_cpu in enumerate(dataloader):
    b_size = real_cpu.size(0)
    netD.zero_grad()
    noise = torch.randn(b_size, nz, 1)
    fake = netG(noise)

    # gradient penalty
    eps = torch.Tensor(b_size, 1, 1).uniform_(0, 1)
    x_p = eps * real_cpu + (1 - eps) * fake.detach()
    x_p.requires_grad_(True)
    grad = torch.autograd.grad(netD(x_p).mean(), x_p, create_graph=True, retain_graph=True)[0].view(b_size, -1)
    grad_norm = torch.norm(grad, 2, 1)
    grad_penalty = p_coeff * torch.pow(grad_norm - 1, 2)

    loss_D = torch.mean(netD(fake.detach()) - netD(real_cpu))
    only_w, = torch.autograd.grad(loss_D, netD.main[0].weight, retain_graph=True)  # to compare
    loss_D.backward()
    optimizerD.step()

    netG.zero_grad()
    loss_G = -torch.mean(netD(netG(torch.randn(b_size, nz, 1))))
    seen = netD.main[0].weight.grad.clone()
    loss_G.backward()
    optimizerG.step()
    print('[%d] loss_D: %.4f loss_G: %.4f penalty: %.4f' % (step, loss_D.item(), loss_G.item(), grad_penalty.mean().item()))
