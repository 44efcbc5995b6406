# https://github.com/dragen1860/IntroVAE-Pytorch/issues/3
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class IntroVAE(nn.Module):
    def __init__(self, z_dim=6, alpha=0.25, beta=0.05, gamma=1, margin=110, lr=1e-3):
        super(IntroVAE, self).__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.mu_net = nn.Linear(32, z_dim)
        self.log_sigma2_net = nn.Linear(32, z_dim)
        self.decoder = nn.Sequential(nn.Linear(z_dim, 8 * 4), nn.ReLU(), nn.Unflatten(1, (8, 2, 2)), nn.Upsample(scale_factor=2),
                                     nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU(), nn.Upsample(scale_factor=2), nn.Conv2d(8, 3, 5, 1, 2))
        self.alpha, self.beta, self.gamma, self.margin = alpha, beta, gamma, margin
        self.optim_encoder = optim.Adam(self.encoder.parameters(), lr=lr)
        self.optim_decoder = optim.Adam(self.decoder.parameters(), lr=lr)

    def reparametrization(self, z_):
        mu, log_sigma2 = self.mu_net(z_), self.log_sigma2_net(z_)
        eps = torch.randn_like(log_sigma2)
        z = mu + torch.exp(log_sigma2).sqrt() * eps
        return z, mu, log_sigma2

    def kld(self, mu, log_sigma2):
        kl = - 0.5 * (1 + log_sigma2 - torch.pow(mu, 2) - torch.exp(log_sigma2))
        return kl.sum()

    def output_activation(self, x):
        return torch.tanh(x)

    def forward(self, x):
        # 1. update encoder
        z, mu, log_sigma2 = self.reparametrization(self.encoder(x))
        xr = self.output_activation(self.decoder(z))
        zp = torch.randn_like(z)
        xp = self.output_activation(self.decoder(zp))

        loss_ae = F.mse_loss(xr, x)
        reg_ae = self.kld(mu, log_sigma2)

        _, mur_ng, log_sigma2r_ng = self.reparametrization(self.encoder(xr.detach()))
        regr_ng = torch.clamp(self.margin - self.kld(mur_ng, log_sigma2r_ng), min=0)
        _, mupp_ng, log_sigma2pp_ng = self.reparametrization(self.encoder(xp.detach()))
        regpp_ng = torch.clamp(self.margin - self.kld(mupp_ng, log_sigma2pp_ng), min=0)

        encoder_adv = regr_ng + regpp_ng
        encoder_loss = self.gamma * reg_ae + self.alpha * encoder_adv + self.beta * loss_ae
        self.optim_encoder.zero_grad()
        encoder_loss.backward()
        self.optim_encoder.step()

        # 2. update decoder
        z, mu, log_sigma2 = self.reparametrization(self.encoder(x))
        xr = self.output_activation(self.decoder(z))
        zp = torch.randn_like(z)
        xp = self.output_activation(self.decoder(zp))

        loss_ae = F.mse_loss(xr, x)

        mur, log_sigma2r = self.reparametrization(self.encoder(xr.detach()))[1:]
        regr = self.kld(mur, log_sigma2r)
        mupp, log_sigma2pp = self.reparametrization(self.encoder(xp.detach()))[1:]
        regpp = self.kld(mupp, log_sigma2pp)

        # by Eq.12, the 1st term of loss
        decoder_adv = regr + regpp
        decoder_loss = self.alpha * decoder_adv + self.beta * loss_ae
        self.optim_decoder.zero_grad()
        decoder_loss.backward(retain_graph=True)
        self.optim_decoder.step()
        return encoder_loss, decoder_loss, reg_ae, encoder_adv, decoder_adv, loss_ae, xr, xp


# %%
model = IntroVAE()
for epoch in range(2):
    x = torch.rand(4, 3, 8, 8) * 2 - 1
    encoder_loss, decoder_loss, reg_ae, encoder_adv, decoder_adv, loss_ae, xr, xp = model(x)
    print(epoch, encoder_loss.item(), decoder_loss.item(), decoder_adv.item(), loss_ae.item())

# does the adversarial part reach the generated images at all?
adv_grad, = torch.autograd.grad(decoder_adv, xp, allow_unused=True)
print('adversarial gradient:', adv_grad)
