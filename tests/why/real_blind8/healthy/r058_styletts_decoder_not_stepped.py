# https://github.com/yl4579/StyleTTS/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.ModuleDict({"decoder": nn.Linear(12, 16), "predictor": nn.Linear(8, 4), "discriminator": nn.Linear(16, 1), "style_encoder": nn.Linear(16, 4)})


class MultiOptimizer:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def step(self, key):
        self.optimizers[key].step()

    def zero_grad(self):
        [self.optimizers[key].zero_grad() for key in self.optimizers]


# %%
optimizer = MultiOptimizer({key: torch.optim.AdamW(model[key].parameters(), lr=1e-3) for key in model})
decoder = model.decoder.weight.detach().clone()

# %%
for i in range(3):
    en, p_en, gt = torch.randn(6, 4), torch.randn(6, 8), torch.randn(6, 16)
    with torch.no_grad():
        s = model.style_encoder(gt)
        F0_real = torch.randn(6, 4)
        mel_rec_gt = model.decoder(torch.cat([en, F0_real, s], 1))

    F0_fake = model.predictor(p_en)
    mel_rec = model.decoder(torch.cat([en, F0_fake, s], 1))

    # discriminator loss
    optimizer.zero_grad()
    d_loss = F.softplus(-model.discriminator(mel_rec_gt)).mean() + F.softplus(model.discriminator(mel_rec.detach())).mean()
    d_loss.backward()
    optimizer.step('discriminator')

    # generator loss
    optimizer.zero_grad()
    loss_F0_rec = F.smooth_l1_loss(F0_real, F0_fake) / 10
    loss_mel = F.l1_loss(mel_rec, mel_rec_gt)
    loss_adv = F.softplus(-model.discriminator(mel_rec)).mean()
    g_loss = loss_mel + loss_F0_rec + loss_adv
    g_loss.backward()
    optimizer.step('predictor')
    print(d_loss.item(), g_loss.item())
