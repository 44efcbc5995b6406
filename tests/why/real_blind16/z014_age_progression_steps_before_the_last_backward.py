# https://github.com/mattans/AgeProgression/issues/23
import torch
import torch.nn as nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce_with_logits_loss
from torch.nn.functional import l1_loss
from torch.optim import Adam

torch.manual_seed(0)
NUM_Z_CHANNELS, LABEL_LEN = 10, 4


class Encoder(nn.Module):
    def __init__(self):
        super(Encoder, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 5, stride=2, padding=2), nn.ReLU())
        self.fc_layer = nn.Sequential(nn.Linear(8 * 8 * 8, NUM_Z_CHANNELS), nn.Tanh())

    def forward(self, face):
        return self.fc_layer(self.conv(face).flatten(1, -1))


class DiscriminatorZ(nn.Module):
    def __init__(self):
        super(DiscriminatorZ, self).__init__()
        self.layers = nn.Sequential(nn.Linear(NUM_Z_CHANNELS, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, z):
        return self.layers(z)


class DiscriminatorImg(nn.Module):
    def __init__(self):
        super(DiscriminatorImg, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 5, stride=2, padding=2), nn.ReLU())
        self.fc_layers = nn.Sequential(nn.Linear(8 * 8 * 8, 16), nn.LeakyReLU(), nn.Linear(16, 1))

    def forward(self, imgs):
        return self.fc_layers(self.conv(imgs).flatten(1, -1))


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.fc = nn.Sequential(nn.Linear(NUM_Z_CHANNELS + LABEL_LEN, 8 * 8 * 8), nn.ReLU())
        self.deconv = nn.Sequential(nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1), nn.Tanh())

    def forward(self, z_l):
        return self.deconv(self.fc(z_l).view(-1, 8, 8, 8))


class Net(object):
    def __init__(self):
        self.E, self.Dz, self.Dimg, self.G = Encoder(), DiscriminatorZ(), DiscriminatorImg(), Generator()
        self.eg_optimizer = Adam(list(self.E.parameters()) + list(self.G.parameters()))
        self.dz_optimizer = Adam(self.Dz.parameters())
        self.di_optimizer = Adam(self.Dimg.parameters())

    def teach_batch(self, images, labels):
        z = self.E(images)
        # Input\Output Loss
        generated = self.G(torch.cat((z, labels), 1))
        eg_loss = l1_loss(generated, images)

        # DiscriminatorZ Loss
        z_prior = 2 * torch.rand_like(z) - 1  # [-1 : 1]
        d_z_prior = self.Dz(z_prior)
        d_z = self.Dz(z)
        dz_loss_prior = bce_with_logits_loss(d_z_prior, torch.ones_like(d_z_prior))
        dz_loss = bce_with_logits_loss(d_z, torch.zeros_like(d_z))
        dz_loss_tot = (dz_loss + dz_loss_prior)

        # Encoder\DiscriminatorZ Loss
        ez_loss = 0.0001 * bce_with_logits_loss(d_z, torch.ones_like(d_z))

        # DiscriminatorImg Loss
        d_i_input = self.Dimg(images)
        d_i_output = self.Dimg(generated)
        di_input_loss = bce_with_logits_loss(d_i_input, torch.ones_like(d_i_input))
        di_output_loss = bce_with_logits_loss(d_i_output, torch.zeros_like(d_i_output))
        di_loss_tot = (di_input_loss + di_output_loss)

        # Generator\DiscriminatorImg Loss
        dg_loss = 0.0001 * bce_with_logits_loss(d_i_output, torch.ones_like(d_i_output))

        # Back prop on Encoder\Generator
        self.eg_optimizer.zero_grad()
        loss = eg_loss + ez_loss + dg_loss
        loss.backward(retain_graph=True)
        self.eg_optimizer.step()

        # Back prop on DiscriminatorZ
        self.dz_optimizer.zero_grad()
        dz_loss_tot.backward(retain_graph=True)
        self.dz_optimizer.step()

        # Back prop on DiscriminatorImg
        self.di_optimizer.zero_grad()
        di_loss_tot.backward()
        self.di_optimizer.step()
        return loss.item()


# %%
net = Net()
images, labels = torch.rand(4, 3, 16, 16) * 2 - 1, torch.eye(LABEL_LEN)
for epoch in range(3):
    print(epoch, net.teach_batch(images, labels))
