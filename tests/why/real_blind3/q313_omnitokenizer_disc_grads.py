# https://github.com/FoundationVision/OmniTokenizer/issues/15
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VQGAN(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.encoder = nn.Sequential(nn.Linear(16, 12), nn.GELU(), nn.Linear(12, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 16))
        self.image_discriminator = nn.Sequential(nn.Linear(16, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))
        self.grad_accumulates = args.grad_accumulates
        self.global_step = 0
        self.logged = {}

    def configure_optimizers(self):
        opt_ae = torch.optim.Adam(list(self.encoder.parameters()) + list(self.decoder.parameters()), lr=self.args.lr)
        opt_disc = torch.optim.Adam(self.image_discriminator.parameters(), lr=self.args.lr)
        return opt_ae, opt_disc

    def forward(self, x, optimizer_idx):
        x_recon = self.decoder(self.encoder(x))
        recon_loss = F.l1_loss(x_recon, x)
        if optimizer_idx == 0:
            aeloss = -torch.mean(self.image_discriminator(x_recon)) * self.args.image_gan_weight
            self.logged['train/aeloss'] = aeloss.item()
            return recon_loss, aeloss
        logits_real = self.image_discriminator(x.detach())
        logits_fake = self.image_discriminator(x_recon.detach())
        discloss = (F.relu(1 - logits_real) + F.relu(1 + logits_fake)).mean() * 0.5
        self.logged['train/discloss'] = discloss.item()
        return discloss

    def training_step(self, batch, opt1, opt2):
        x = batch['video']
        last = (self.global_step + 1) % self.grad_accumulates == 0
        # if optimizer_idx == 0:
        recon_loss, aeloss = self.forward(x, optimizer_idx=0)
        loss_generator = (recon_loss + aeloss) / self.grad_accumulates
        loss_generator.backward()
        if last:
            opt1.step()
            opt1.zero_grad()
        # if optimizer_idx == 1:
        discloss = self.forward(x, optimizer_idx=1)
        loss_discriminator = discloss / self.grad_accumulates
        disc_own.append(torch.autograd.grad(loss_discriminator, self.image_discriminator[0].weight, retain_graph=True)[0])
        loss_discriminator.backward()
        if last:
            disc_seen.append(self.image_discriminator[0].weight.grad.clone())
            opt2.step()
            opt2.zero_grad()
        self.global_step += 1


# %%
model = VQGAN(SimpleNamespace(lr=1e-3, grad_accumulates=2, image_gan_weight=1.0))
opt1, opt2 = model.configure_optimizers()
disc_own, disc_seen = [], []  # what the discriminator's own loss gives, and what opt2 steps with
for batch_idx in range(2):
    model.training_step({'video': torch.randn(8, 16)}, opt1, opt2)
    print(batch_idx, model.logged)
