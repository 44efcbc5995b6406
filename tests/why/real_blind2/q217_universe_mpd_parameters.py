# https://github.com/line/open-universe/issues/5
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class DiscriminatorP(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, (5, 1), (3, 1)), nn.Conv2d(4, 4, (3, 1))])
        self.conv_post = nn.Conv2d(4, 1, (3, 1), padding=(1, 0))

    def forward(self, x):
        x = x.view(x.shape[0], 1, -1, self.period)
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
        return self.conv_post(x).flatten(1)


class DiscriminatorR(nn.Module):
    def __init__(self, n_fft):
        super().__init__()
        self.n_fft = n_fft
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)])
        self.conv_post = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, x):
        frames = x.squeeze(1).unfold(-1, self.n_fft, self.n_fft // 2)
        x = torch.fft.rfft(frames).abs().unsqueeze(1)
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
        return self.conv_post(x).flatten(1)


class MultiDiscriminator(nn.Module):
    def __init__(self, discriminators):
        super().__init__()
        self.discriminators = nn.ModuleList(discriminators)

    def forward(self, y, y_hat):
        return [d(y) for d in self.discriminators], [d(y_hat) for d in self.discriminators]


def discriminator_loss(y_r, y_g):
    return sum(((1 - r) ** 2).mean() + (g**2).mean() for r, g in zip(y_r, y_g))


def generator_loss(y_g):
    return sum(((1 - g) ** 2).mean() for g in y_g)


# %%
class UniverseGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.score_model = nn.Conv1d(9, 1, 3, padding=1)
        self.condition_model = nn.Conv1d(1, 8, 3, padding=1)
        self.signal_decoupling_layer = nn.Sequential(nn.PReLU(), nn.Conv1d(8, 1, 3, padding=1))
        self.init_losses()

    def init_losses(self):
        # define discriminators. MPD is used by default
        self.loss_mpd = MultiDiscriminator([DiscriminatorP(2), DiscriminatorP(3)])
        # define additional discriminators. BigVGAN uses MRD as default
        self.loss_mrd = MultiDiscriminator([DiscriminatorR(8), DiscriminatorR(16)])

    def model_parameters(self):
        # exclude the loss parameters
        return itertools.chain(
            self.score_model.parameters(),
            self.condition_model.parameters(),
            self.signal_decoupling_layer.parameters(),
        )

    def configure_optimizers(self):
        optimizer_gen = torch.optim.AdamW(self.model_parameters(), lr=2e-3)

        # optimizer discriminator
        params_disc = list(self.loss_mrd.parameters()) + list(
            self.loss_mrd.parameters()
        )
        optimizer_disc = torch.optim.AdamW(params_disc, lr=2e-3)
        return [optimizer_gen, optimizer_disc]

    def training_step(self, batch, opt_score, opt_disc):
        mix, target = batch
        sigma = torch.rand(mix.shape[0], 1, 1)
        z = torch.randn_like(target)
        cond = self.condition_model(mix)
        score = self.score_model(torch.cat([target + sigma * z, cond.detach()], dim=1))
        y_est = self.signal_decoupling_layer(cond)

        # Discriminator optimization
        opt_disc.zero_grad()
        loss_disc_f = discriminator_loss(*self.loss_mpd(target, y_est.detach()))
        loss_disc_s = discriminator_loss(*self.loss_mrd(target, y_est.detach()))
        loss_disc = loss_disc_s + loss_disc_f
        loss_disc.backward()
        torch.nn.utils.clip_grad_norm_(self.loss_mpd.parameters(), 10.0)
        torch.nn.utils.clip_grad_norm_(self.loss_mrd.parameters(), 10.0)
        opt_disc.step()

        # Generator optimization
        opt_score.zero_grad()
        l_score = F.mse_loss(sigma * score, -z)
        _, y_df_hat_g = self.loss_mpd(target, y_est)
        _, y_ds_hat_g = self.loss_mrd(target, y_est)
        loss_gen = l_score + F.l1_loss(y_est, target) + generator_loss(y_df_hat_g) + generator_loss(y_ds_hat_g)
        loss_gen.backward()
        opt_score.step()
        return {"train/loss_mpd": loss_disc_f.item(), "train/loss_mrd": loss_disc_s.item(), "train/loss_gen": loss_gen.item()}


# %%
model = UniverseGAN()
opt_score, opt_disc = model.configure_optimizers()
mpd_before = [p.detach().clone() for p in model.loss_mpd.parameters()]
for step in range(3):
    target = torch.randn(4, 1, 96)
    print(model.training_step((target + 0.3 * torch.randn_like(target), target), opt_score, opt_disc))
