# https://github.com/9310gaurav/ali-pytorch/issues/6
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(0)

batch_size = 16
lr = 1e-4
latent_size = 8
num_epochs = 2


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        m.weight.data.normal_(0.0, 0.02)
        if m.bias is not None:
            m.bias.data.fill_(0)


class Encoder(nn.Module):
    def __init__(self, latent_size):
        super(Encoder, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(16, 32, 4),
            nn.LeakyReLU(0.1),
            nn.Conv2d(32, 2 * latent_size, 1),
        )

    def forward(self, x):
        return self.main(x)


class Generator(nn.Module):
    def __init__(self, latent_size):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(latent_size, 32, 4),
            nn.LeakyReLU(0.1),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(16, 3, 1),
            nn.Sigmoid(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, latent_size, output_size=1):
        super(Discriminator, self).__init__()
        self.infer_x = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(16, 32, 4),
            nn.LeakyReLU(0.1),
        )
        self.infer_z = nn.Sequential(nn.Conv2d(latent_size, 32, 1), nn.LeakyReLU(0.1))
        self.infer_joint = nn.Sequential(nn.Conv2d(64, 64, 1), nn.LeakyReLU(0.1))
        self.final = nn.Conv2d(64, output_size, 1)

    def forward(self, x, z):
        output_features = self.infer_joint(torch.cat([self.infer_x(x), self.infer_z(z)], dim=1))
        output = torch.sigmoid(self.final(output_features))
        return output.view(-1), output_features.view(x.size(0), -1)


# %%
train_loader = [torch.rand(batch_size, 3, 8, 8) for _ in range(4)]
netE = Encoder(latent_size)
netG = Generator(latent_size)
netD = Discriminator(latent_size, 1)
netE.apply(weights_init)
netG.apply(weights_init)
netD.apply(weights_init)

optimizerG = optim.Adam([{'params': netE.parameters()},
                         {'params': netG.parameters()}], lr=lr, betas=(0.5, 0.999))
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
criterion = nn.BCELoss()

# %%
for epoch in range(num_epochs):
    for i, data in enumerate(train_loader):
        real_label = Variable(torch.ones(batch_size))
        fake_label = Variable(torch.zeros(batch_size))
        noise1 = torch.Tensor(data.size()).normal_(0, 0.1 * (num_epochs - epoch) / num_epochs)
        noise2 = torch.Tensor(data.size()).normal_(0, 0.1 * (num_epochs - epoch) / num_epochs)

        d_real = Variable(data)
        z_fake = Variable(torch.randn(batch_size, latent_size, 1, 1))
        d_fake = netG(z_fake)

        z_real = netE(d_real)
        z_real = z_real.view(batch_size, -1)
        mu, log_sigma = z_real[:, :latent_size], z_real[:, latent_size:]
        sigma = torch.exp(log_sigma)
        epsilon = Variable(torch.randn(batch_size, latent_size))
        output_z = mu + epsilon * sigma

        output_real, _ = netD(d_real + noise1, output_z.view(batch_size, latent_size, 1, 1))
        output_fake, _ = netD(d_fake + noise2, z_fake)

        loss_d = criterion(output_real, real_label) + criterion(output_fake, fake_label)
        loss_g = criterion(output_fake, real_label) + criterion(output_real, fake_label)

        optimizerD.zero_grad()
        loss_d.backward(retain_graph=True)
        optimizerD.step()

        optimizerG.zero_grad()
        loss_g.backward()
        optimizerG.step()
    print("Epoch :", epoch, "D Loss :", loss_d.item(), "G loss :", loss_g.item())
