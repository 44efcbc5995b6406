# https://github.com/rishikksh20/Avocodo-pytorch/issues/4
import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_pre = nn.Conv1d(4, 32, 3, padding=1)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(32, 32, 4, stride=2, padding=1) for _ in range(3)])
        self.out_proj_x1 = nn.Conv1d(32, 1, 3, padding=1)
        self.out_proj_x2 = nn.Conv1d(32, 1, 3, padding=1)
        self.conv_post = nn.Conv1d(32, 1, 3, padding=1)

    def forward(self, x):
        x = self.conv_pre(x)
        x = F.leaky_relu(self.ups[0](x), 0.1)
        x1 = self.out_proj_x1(x)
        x = F.leaky_relu(self.ups[1](x), 0.1)
        x2 = self.out_proj_x2(x)
        x = F.leaky_relu(self.ups[2](x), 0.1)
        x = torch.tanh(self.conv_post(x))
        return x, x2, x1


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(channels, 8, 5, 2, padding=2), nn.Conv1d(8, 16, 5, 2, padding=2)])
        self.conv_post = nn.Conv1d(16, 1, 3, padding=1)

    def forward(self, x):
        fmap = []
        for l in self.convs:
            x = F.leaky_relu(l(x), 0.1)
            fmap.append(x)
        return self.conv_post(x).flatten(1), fmap


class MultiCoMBDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.combd = nn.ModuleList([Block(1) for _ in range(3)])

    def forward(self, y, y_hat, x2, x1):
        reals, fakes = (F.avg_pool1d(y, 4), F.avg_pool1d(y, 2), y), (x1, x2, y_hat)
        y_d_rs, fmap_rs = zip(*[d(r) for d, r in zip(self.combd, reals)])
        y_d_gs, fmap_gs = zip(*[d(g) for d, g in zip(self.combd, fakes)])
        return y_d_rs, y_d_gs, fmap_rs, fmap_gs


class MultiSubBandDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.mdc = Block(8)

    def forward(self, y, y_hat):
        bands = [k.view(k.size(0), -1, 8).transpose(1, 2) for k in (y, y_hat)]
        (r, fmap_r), (g, fmap_g) = self.mdc(bands[0]), self.mdc(bands[1])
        return [r], [g], [fmap_r], [fmap_g]


def feature_loss(fmap_r, fmap_g):
    return 2 * sum(torch.mean(torch.abs(rl - gl)) for dr, dg in zip(fmap_r, fmap_g) for rl, gl in zip(dr, dg))


def discriminator_loss(disc_real_outputs, disc_generated_outputs):
    return sum(torch.mean((1 - dr) ** 2) + torch.mean(dg ** 2) for dr, dg in zip(disc_real_outputs, disc_generated_outputs))


def generator_loss(disc_outputs):
    return sum(torch.mean((1 - dg) ** 2) for dg in disc_outputs)


def mel_spectrogram(y):
    return torch.log(torch.fft.rfft(y.unfold(1, 16, 8) * torch.hann_window(16)).abs() + 1e-2)


def batches(n):
    t = torch.arange(64) / 64
    pitch = 4 + 6 * torch.rand(n, 1)
    y = 0.8 * torch.sin(2 * math.pi * pitch * t)
    x = torch.cat([torch.sin(2 * math.pi * pitch * t[::8] + k * math.pi / 2).unsqueeze(1) for k in range(4)], 1)
    return x, y, mel_spectrogram(y)


# %%
generator, mcmbd, msbd = Generator(), MultiCoMBDiscriminator(), MultiSubBandDiscriminator()
optim_g = torch.optim.AdamW(generator.parameters(), 2e-3, betas=[0.8, 0.99])
optim_d = torch.optim.AdamW(itertools.chain(msbd.parameters(), mcmbd.parameters()), 2e-3, betas=[0.8, 0.99])
mel_errors, from_critics = [], []
for steps in range(110):
    x, y, y_mel = batches(16)
    y = y.unsqueeze(1)
    y_g_hat, x2, x1 = generator(x)
    y_g_hat_mel = mel_spectrogram(y_g_hat.squeeze(1))

    optim_d.zero_grad()
    before = [p.grad.clone() for p in generator.parameters() if p.grad is not None]

    y_df_hat_r, y_df_hat_g, _, _ = mcmbd(y, y_g_hat.detach(), x2.detach(), x1.detach())
    y_ds_hat_r, y_ds_hat_g, _, _ = msbd(y, y_g_hat.detach())
    loss_disc_all = discriminator_loss(y_ds_hat_r, y_ds_hat_g) + discriminator_loss(y_df_hat_r, y_df_hat_g)
    loss_disc_all.backward()
    optim_d.step()
    from_critics.append(any(not torch.equal(a, p.grad) for a, p in zip(before, generator.parameters())))

    # Generator
    optim_g.zero_grad()
    loss_mel = F.l1_loss(y_mel, y_g_hat_mel) * 45
    y_df_hat_r, y_df_hat_g, fmap_f_r, fmap_f_g = mcmbd(y, y_g_hat, x2, x1)
    y_ds_hat_r, y_ds_hat_g, fmap_s_r, fmap_s_g = msbd(y, y_g_hat)
    loss_fm = feature_loss(fmap_f_r, fmap_f_g) + feature_loss(fmap_s_r, fmap_s_g)
    loss_gen_all = generator_loss(y_ds_hat_g) + generator_loss(y_df_hat_g) + loss_fm + loss_mel
    loss_gen_all.backward()
    optim_g.step()
    mel_errors.append(loss_mel.item() / 45)

# %%
heads = [generator.out_proj_x1.weight.grad.abs().sum().item(), generator.out_proj_x2.weight.grad.abs().sum().item()]
print(mel_errors[0], mel_errors[-1], any(from_critics), heads)
assert not any(from_critics) and min(heads) > 0 and mel_errors[-1] < 0.6 * mel_errors[0]
