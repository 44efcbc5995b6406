# https://github.com/znxlwm/pytorch-generative-model-collections/issues/4
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class generator(nn.Module):
    def __init__(self, input_dim=100, output_dim=2):
        super(generator, self).__init__()
        self.fc = nn.Sequential(
            nn.Linear(input_dim, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, output_dim),
        )

    def forward(self, input):
        return self.fc(input)


class discriminator(nn.Module):
    def __init__(self, input_dim=2, output_dim=1):
        super(discriminator, self).__init__()
        self.fc = nn.Sequential(
            nn.Linear(input_dim, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, output_dim),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.fc(input)


class GAN(object):
    def __init__(self, batch_size=64, lrG=1e-3, lrD=1e-3):
        self.batch_size, self.z_dim = batch_size, 8
        self.G = generator(input_dim=self.z_dim)
        self.D = discriminator()
        self.G_optimizer = optim.Adam(self.G.parameters(), lr=lrG, betas=(0.5, 0.999))
        self.D_optimizer = optim.Adam(self.D.parameters(), lr=lrD, betas=(0.5, 0.999))
        self.BCE_loss = nn.BCELoss()

    def train(self, steps):
        self.train_hist = {'D_loss': [], 'G_loss': []}
        self.y_real_, self.y_fake_ = torch.ones(self.batch_size, 1), torch.zeros(self.batch_size, 1)
        self.D.train()
        self.G.train()
        for iter in range(steps):
            x_ = torch.tensor([3.0, -1.0]) + 0.5 * torch.randn(self.batch_size, 2)
            z_ = torch.rand((self.batch_size, self.z_dim))

            # update D network
            self.D_optimizer.zero_grad()

            D_real = self.D(x_)
            D_real_loss = self.BCE_loss(D_real, self.y_real_)

            G_ = self.G(z_)
            D_fake = self.D(G_)
            D_fake_loss = self.BCE_loss(D_fake, self.y_fake_)

            D_loss = D_real_loss + D_fake_loss
            self.train_hist['D_loss'].append(D_loss.item())

            D_loss.backward()
            self.D_optimizer.step()

            # update G network
            self.G_optimizer.zero_grad()

            G_ = self.G(z_)
            D_fake = self.D(G_)
            G_loss = self.BCE_loss(D_fake, self.y_real_)
            self.train_hist['G_loss'].append(G_loss.item())

            G_loss.backward()
            self.G_optimizer.step()


# %%
gan = GAN()
start = gan.G(torch.rand(500, gan.z_dim)).mean(0).detach()

# %%
gan.train(400)

# %%
samples = gan.G(torch.rand(500, gan.z_dim)).detach()
target = torch.tensor([3.0, -1.0])
distance = (samples.mean(0) - target).norm().item()
print(start, samples.mean(0), gan.train_hist['D_loss'][-1], gan.train_hist['G_loss'][-1])
assert distance < 0.5 * (start - target).norm().item()
