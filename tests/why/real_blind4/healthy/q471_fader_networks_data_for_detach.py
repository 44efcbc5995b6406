# https://github.com/facebookresearch/FaderNetworks/issues/8
import torch
from torch import nn
from torch.autograd import Variable
from torch.nn import functional as F

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, n_attr=2, n_fm=8):
        super(AutoEncoder, self).__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, n_fm, 4, 2, 1), nn.BatchNorm2d(n_fm), nn.LeakyReLU(0.2))
        self.dec = nn.Sequential(nn.ConvTranspose2d(n_fm + n_attr, 3, 4, 2, 1), nn.Tanh())

    def encode(self, x):
        return [self.enc(x)]

    def decode(self, enc_outputs, y):
        x = enc_outputs[-1]
        y = y.unsqueeze(2).unsqueeze(3).expand(y.size(0), y.size(1), x.size(2), x.size(3))
        return [self.dec(torch.cat([x, y], 1))]


class LatentDiscriminator(nn.Module):
    def __init__(self, n_attr=2, n_fm=8):
        super(LatentDiscriminator, self).__init__()
        self.conv_layers = nn.Sequential(nn.Conv2d(n_fm, 8, 4, 2, 1), nn.LeakyReLU(0.2))
        self.proj_layers = nn.Sequential(nn.Linear(8 * 4, 8), nn.LeakyReLU(0.2), nn.Linear(8, n_attr))

    def forward(self, x):
        return self.proj_layers(self.conv_layers(x).view(x.size(0), -1))


class Trainer(object):
    def __init__(self, ae, lat_dis, lr=2e-3):
        self.ae, self.lat_dis = ae, lat_dis
        self.ae_optimizer = torch.optim.Adam(ae.parameters(), lr=lr)
        self.lat_dis_optimizer = torch.optim.Adam(lat_dis.parameters(), lr=lr)
        self.lambda_lat_dis = 0.01
        self.ae_got_gradient = False

    def batch(self):
        return Variable(torch.rand(4, 3, 8, 8) * 2 - 1), Variable((torch.rand(4, 2) > 0.5).float())

    def lat_dis_step(self):
        """Train the latent discriminator."""
        self.ae.eval()
        self.lat_dis.train()
        batch_x, batch_y = self.batch()
        self.ae_optimizer.zero_grad()
        # encode / discriminate
        enc_outputs = self.ae.encode(Variable(batch_x.data))
        preds = self.lat_dis(Variable(enc_outputs[-1].data))
        # loss / optimize
        loss = F.binary_cross_entropy_with_logits(preds, batch_y)
        self.lat_dis_optimizer.zero_grad()
        loss.backward()
        self.lat_dis_optimizer.step()
        self.ae_got_gradient |= any(p.grad is not None and bool(p.grad.any()) for p in self.ae.parameters())
        return loss.item()

    def autoencoder_step(self):
        """Train the autoencoder with cross-entropy and latent discriminator loss."""
        self.ae.train()
        self.lat_dis.eval()
        batch_x, batch_y = self.batch()
        enc_outputs = self.ae.encode(batch_x)
        dec_outputs = self.ae.decode(enc_outputs, batch_y)
        loss = ((batch_x - dec_outputs[-1]) ** 2).mean()
        lat_dis_preds = self.lat_dis(enc_outputs[-1])
        loss = loss + self.lambda_lat_dis * F.binary_cross_entropy_with_logits(lat_dis_preds, 1 - batch_y)
        self.ae_optimizer.zero_grad()
        loss.backward()
        self.ae_optimizer.step()
        return loss.item()


# %%
trainer = Trainer(AutoEncoder(), LatentDiscriminator())
for n_epoch in range(3):
    print(n_epoch, trainer.autoencoder_step(), trainer.lat_dis_step())
