# https://github.com/gaozhihan/PreDiff/pull/33
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AutoencoderKL(nn.Module):
    def __init__(self, ch=8, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, ch, 3, stride=2, padding=1), nn.SiLU(),
                                     nn.Conv2d(ch, 2 * latent, 3, stride=2, padding=1))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(latent, ch, 4, stride=2, padding=1), nn.SiLU(),
                                     nn.ConvTranspose2d(ch, 1, 4, stride=2, padding=1))

    def forward(self, sample):
        mean, logvar = self.encoder(sample).chunk(2, dim=1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decoder(z), (mean, logvar)


class LPIPSWithDiscriminator(nn.Module):
    def __init__(self, kl_weight=1e-4, disc_weight=0.1):
        super().__init__()
        self.discriminator = nn.Sequential(nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                                           nn.Conv2d(8, 1, 4, padding=1))
        self.kl_weight, self.disc_weight = kl_weight, disc_weight

    def forward(self, inputs, reconstructions, posterior, optimizer_idx):
        if optimizer_idx == 0:
            rec_loss = F.l1_loss(reconstructions, inputs)
            mean, logvar = posterior
            kl_loss = 0.5 * (mean ** 2 + logvar.exp() - 1 - logvar).mean()
            g_loss = -self.discriminator(reconstructions).mean()
            return rec_loss + self.kl_weight * kl_loss + self.disc_weight * g_loss
        logits_real = self.discriminator(inputs.detach())
        logits_fake = self.discriminator(reconstructions.detach())
        return 0.5 * (F.relu(1.0 - logits_real).mean() + F.relu(1.0 + logits_fake).mean())


class VAESEVIRPLModule(nn.Module):
    def __init__(self, total_batch_size=8, micro_batch_size=2):
        super().__init__()
        self.torch_nn_module = AutoencoderKL()
        self.loss = LPIPSWithDiscriminator()
        self.accumulate_grad_batches = total_batch_size // micro_batch_size
        self.gradient_clip_val = 1.0

    def configure_optimizers(self):
        g_opt = torch.optim.AdamW(self.torch_nn_module.parameters(), lr=1e-3, betas=(0.5, 0.9))
        d_opt = torch.optim.AdamW(self.loss.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
        return g_opt, d_opt

    def training_step(self, batch, batch_idx):
        g_opt, d_opt = self.optimizers
        pred_bchw, posterior = self.torch_nn_module(batch)

        # train encoder+decoder
        aeloss = self.loss(batch, pred_bchw, posterior, optimizer_idx=0)
        g_opt.zero_grad()
        aeloss.backward()
        if (batch_idx + 1) % self.accumulate_grad_batches == 0:
            nn.utils.clip_grad_norm_(self.torch_nn_module.parameters(), self.gradient_clip_val)
            g_opt.step()

        # train the discriminator
        discloss = self.loss(batch, pred_bchw, posterior, optimizer_idx=1)
        d_opt.zero_grad()
        discloss.backward()
        if (batch_idx + 1) % self.accumulate_grad_batches == 0:
            nn.utils.clip_grad_norm_(self.loss.discriminator.parameters(), self.gradient_clip_val)
            d_opt.step()
        return aeloss.item(), discloss.item()


# %%
pl_module = VAESEVIRPLModule()
pl_module.optimizers = pl_module.configure_optimizers()
pl_module.train()

# %%
for batch_idx in range(8):
    batch = torch.rand(2, 1, 32, 32)
    aeloss, discloss = pl_module.training_step(batch, batch_idx)
    print(batch_idx, aeloss, discloss)
