# https://github.com/Zeleni9/pytorch-wgan/issues/40
import torch
import torch.nn as nn
import torch.optim as optim
from torch import autograd
from torch.autograd import Variable

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, channels, width=16):
        super().__init__()
        self.main_module = nn.Sequential(
            nn.ConvTranspose2d(100, 2 * width, 4), nn.BatchNorm2d(2 * width), nn.ReLU(True),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.ConvTranspose2d(width, channels, 4, stride=2, padding=1),
        )
        self.output = nn.Tanh()

    def forward(self, z):
        return self.output(self.main_module(z))


class Discriminator(nn.Module):
    """A critic: no sigmoid at its end, and instance norm in place of batch norm."""

    def __init__(self, channels, width=16):
        super().__init__()
        layers = []
        for c_in, c_out in [(channels, width), (width, 2 * width)]:
            layers += [nn.Conv2d(c_in, c_out, 4, stride=2, padding=1), nn.InstanceNorm2d(c_out, affine=True),
                       nn.LeakyReLU(0.2, inplace=True)]
        self.main_module = nn.Sequential(*layers)
        self.output = nn.Conv2d(2 * width, 1, 4)

    def forward(self, x):
        return self.output(self.main_module(x))


class WGAN_GP:
    def __init__(self, channels, batch_size=32, critic_iter=5, lambda_term=10):
        self.G = Generator(channels)
        self.D = Discriminator(channels)
        self.batch_size = batch_size
        self.critic_iter = critic_iter
        self.lambda_term = lambda_term
        self.d_optimizer = optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.g_optimizer = optim.Adam(self.G.parameters(), lr=1e-4, betas=(0.5, 0.999))

    def noise(self):
        return torch.randn(self.batch_size, 100, 1, 1)

    def train_critic(self, images):
        self.d_optimizer.zero_grad()
        fake_images = self.G(self.noise()).detach()
        d_loss_real = self.D(images).mean()
        d_loss_fake = self.D(fake_images).mean()
        gradient_penalty = self.calculate_gradient_penalty(images, fake_images)
        (d_loss_fake - d_loss_real + gradient_penalty).backward()
        self.d_optimizer.step()
        return (d_loss_real - d_loss_fake).item(), gradient_penalty.item()

    def train_generator(self):
        for p in self.D.parameters():
            p.requires_grad = False
        self.g_optimizer.zero_grad()
        g_loss = -self.D(self.G(self.noise())).mean()
        g_loss.backward()
        self.g_optimizer.step()
        for p in self.D.parameters():
            p.requires_grad = True

    def train(self, data, generator_iters):
        for g_iter in range(generator_iters):
            for _ in range(self.critic_iter):
                images = data[torch.randperm(len(data))[:self.batch_size]]
                wasserstein_d, penalty = self.train_critic(images)
            self.train_generator()
            if g_iter % 5 == 4:
                print(g_iter, wasserstein_d, penalty)

    def calculate_gradient_penalty(self, real_images, fake_images):
        eta = torch.rand(self.batch_size, 1, 1, 1)
        interpolated = Variable(eta * real_images + (1 - eta) * fake_images, requires_grad=True)
        prob_interpolated = self.D(interpolated)
        gradients, = autograd.grad(prob_interpolated, interpolated, torch.ones_like(prob_interpolated),
                                   create_graph=True)
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * self.lambda_term


# %%
digits = torch.rand(256, 1, 16, 16) * 2 - 1
digits[:, :, 4:12, 4:12] = 0.9
model = WGAN_GP(channels=1)
model.train(digits, generator_iters=20)

images = digits[:32].clone().requires_grad_()
slope = autograd.grad(model.D(images).sum(), images)[0].flatten(1).norm(2, dim=1).mean()
print("slope of the critic at real images:", slope.item())
