# https://github.com/GaParmar/img2img-turbo/issues/56
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pix2Pix_Turbo(nn.Module):
    def __init__(self):
        super().__init__()
        self.vae_enc, self.unet, self.vae_dec = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 3, 1)

    def forward(self, c_t, deterministic=True):
        return torch.tanh(self.vae_dec(F.silu(self.unet(F.silu(self.vae_enc(c_t))))))


class Discriminator(nn.Module):
    """vagan_clip: a frozen feature extractor and a trained head."""

    def __init__(self):
        super().__init__()
        self.cv_ensemble = nn.Conv2d(3, 6, 4, stride=2)
        self.decoder = nn.Linear(6, 1)

    def forward(self, x, for_real=False, for_G=False):
        logits = self.decoder(F.relu(self.cv_ensemble(x)).mean((2, 3)))
        if for_G or for_real:
            return F.softplus(-logits)
        return F.softplus(logits)


net_pix2pix, net_disc = Pix2Pix_Turbo(), Discriminator()
net_disc.cv_ensemble.requires_grad_(False)  # Freeze feature extractor
net_disc.train()
lambda_gan, lambda_l2, max_grad_norm = 0.5, 1.0, 1.0
layers_to_opt = list(net_pix2pix.parameters())
optimizer = torch.optim.AdamW(layers_to_opt, lr=5e-6)
optimizer_disc = torch.optim.AdamW([p for p in net_disc.parameters() if p.requires_grad], lr=5e-6)
x_src, x_tgt = torch.rand(2, 3, 8, 8) * 2 - 1, torch.rand(2, 3, 8, 8) * 2 - 1

# %%
# Reconstruction loss
x_tgt_pred = net_pix2pix(x_src)
loss = F.mse_loss(x_tgt_pred, x_tgt) * lambda_l2
loss.backward()
torch.nn.utils.clip_grad_norm_(layers_to_opt, max_grad_norm)
optimizer.step()
optimizer.zero_grad(set_to_none=True)

# %%
# Generator loss: fool the discriminator
x_tgt_pred = net_pix2pix(x_src)
lossG = net_disc(x_tgt_pred, for_G=True).mean() * lambda_gan
lossG.backward()
torch.nn.utils.clip_grad_norm_(layers_to_opt, max_grad_norm)
optimizer.step()
optimizer.zero_grad(set_to_none=True)

# %%
# Discriminator loss: real image
lossD_real = net_disc(x_tgt.detach(), for_real=True).mean() * lambda_gan
only_real, = torch.autograd.grad(lossD_real, net_disc.decoder.weight, retain_graph=True)
lossD_real.backward()
print(net_disc.decoder.weight.grad, only_real)
torch.nn.utils.clip_grad_norm_(net_disc.parameters(), max_grad_norm)
optimizer_disc.step()
