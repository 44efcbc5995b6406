# https://github.com/Adversarial-Deep-Learning/code-soup/issues/69
import torch
import torch.nn as nn

torch.manual_seed(0)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())

    def forward(self, x):
        return self.main(x).view(-1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class GAN:
    def __init__(self, lr):
        self.generator, self.discriminator = Generator(), Discriminator()
        self.optimizerD = torch.optim.SGD(self.discriminator.parameters(), lr=lr)
        self.optimizerG = torch.optim.SGD(self.generator.parameters(), lr=lr)
        self.criterion = nn.BCELoss()

    def step(self, data):
        batch_size = data.size(0)
        label = torch.full((batch_size,), 1.0)
        errD_real = self.criterion(self.discriminator(data), label)
        errD_real.backward()
        fake = self.generator(torch.randn(batch_size, 8))
        label.fill_(0.0)
        errD_fake = self.criterion(self.discriminator(fake.detach()), label)
        errD_fake.backward()
        self.optimizerD.step()

        self.generator.zero_grad()
        label.fill_(1.0)
        errG = self.criterion(self.discriminator(fake), label)
        errG.backward()
        self.optimizerG.step()
        return errD_real + errD_fake


# %%
gan = GAN(lr=0.05)

# %%
for i in range(3):
    b_before = gan.discriminator.main[2].bias.detach().clone()
    print(gan.step(torch.randn(8, 12)).item())
