# https://github.com/caogang/wgan-gp/issues/16
import torch
import torch.nn as nn
from torch import autograd, optim

DIM, LAMBDA, BATCH_SIZE, NOISE = 4, 10, 6, 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.preprocess = nn.Linear(NOISE, 4 * 4 * 2 * DIM)
        self.main = nn.Sequential(
            nn.ReLU(),
            nn.ConvTranspose2d(2 * DIM, DIM, 2, stride=2),
            nn.InstanceNorm2d(DIM),
            nn.ReLU(),
            nn.ConvTranspose2d(DIM, 3, 2, stride=2),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(self.preprocess(input).view(-1, 2 * DIM, 4, 4))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, DIM, 3, 2, padding=1),
            nn.LeakyReLU(),
            nn.Conv2d(DIM, 2 * DIM, 3, 2, padding=1),
            nn.LeakyReLU(),
            nn.Conv2d(2 * DIM, 4 * DIM, 3, padding=1),
            nn.InstanceNorm2d(4 * DIM),
        )
        self.linear = nn.Linear(4 * DIM, 1)

    def forward(self, input):
        output = self.main(input).mean((2, 3))
        return self.linear(output)


netG, netD = Generator(), Discriminator()
optimizerD = optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9))


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1, 1, 1).expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    print(gradients.abs().max())
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA, gradients


# %%
real_data = torch.rand(BATCH_SIZE, 3, 16, 16) * 2 - 1
for iteration in range(2):
    netD.zero_grad()
    fake = netG(torch.randn(BATCH_SIZE, NOISE)).data
    D_real = netD(real_data).mean()
    D_fake = netD(fake).mean()
    gradient_penalty, gradients = calc_gradient_penalty(netD, real_data.data, fake)
    D_cost = D_fake - D_real + gradient_penalty
    D_cost.backward()
    optimizerD.step()
