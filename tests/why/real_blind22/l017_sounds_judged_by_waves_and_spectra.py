# https://github.com/wesbz/SoundStream/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)

LAMBDA_ADV = 1
LAMBDA_FEAT = 100
LAMBDA_REC = 1


class CausalConv1d(nn.Conv1d):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.causal_padding = self.dilation[0] * (self.kernel_size[0] - 1)

    def forward(self, x):
        return self._conv_forward(F.pad(x, [self.causal_padding, 0]), self.weight, self.bias)


class SoundStream(nn.Module):
    def __init__(self, C=4):
        super().__init__()
        self.encoder = nn.Sequential(CausalConv1d(1, C, 7), nn.ELU(), CausalConv1d(C, C, 7), nn.ELU())
        self.decoder = nn.Sequential(CausalConv1d(C, C, 7), nn.ELU(), CausalConv1d(C, 1, 7))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class WaveDiscriminator(nn.Module):
    def __init__(self, C=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(1, C, 15, padding=7), nn.Conv1d(C, C, 9, stride=4, padding=4),
                                     nn.Conv1d(C, 1, 3, padding=1)])

    def forward(self, x):
        features = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
            features.append(x)
        return features


class STFTDiscriminator(nn.Module):
    def __init__(self, C=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(2, C, 7, padding=3), nn.Conv2d(C, C, 3, stride=2, padding=1),
                                     nn.Conv2d(C, 1, 3, padding=1)])

    def forward(self, x):
        features = []
        for layer in self.layers:
            x = F.elu(layer(x))
            features.append(x)
        return features


def stft(x):
    window = torch.hann_window(64)
    return torch.view_as_real(torch.stft(x.squeeze(1), n_fft=64, hop_length=16, window=window,
                                         return_complex=True)).permute(0, 3, 1, 2)


def criterion_g(x, G_x, f_stft_x, f_wave_x, f_stft_G_x, f_wave_G_x):
    adversarial = F.relu(1 - f_stft_G_x[-1]).mean() + F.relu(1 - f_wave_G_x[-1]).mean()
    feature = sum((a - b).abs().mean() for a, b in zip(f_stft_x + f_wave_x, f_stft_G_x + f_wave_G_x))
    return LAMBDA_ADV * adversarial + LAMBDA_FEAT * feature + LAMBDA_REC * (x - G_x).abs().mean()


def criterion_d(f_stft_x, f_wave_x, f_stft_G_x, f_wave_G_x):
    real = F.relu(1 - f_stft_x[-1]).mean() + F.relu(1 - f_wave_x[-1]).mean()
    generated = F.relu(1 + f_stft_G_x[-1]).mean() + F.relu(1 + f_wave_G_x[-1]).mean()
    return real + generated


# %%
soundstream, wave_disc, stft_disc = SoundStream(), WaveDiscriminator(), STFTDiscriminator()
optimizer_g = optim.Adam(soundstream.parameters(), lr=1e-4, betas=(0.5, 0.9))
optimizer_d = optim.Adam(list(wave_disc.parameters()) + list(stft_disc.parameters()), lr=1e-4, betas=(0.5, 0.9))
t = torch.arange(512) / 512
train_loader = [torch.sin(2 * torch.pi * f.view(-1, 1, 1) * t) for f in (torch.rand(4, 4) * 30 + 5)]

# %%
train_loss_d = train_loss_g = 0.0
for x in train_loader:
    G_x = soundstream(x)
    s_x, s_G_x = stft(x), stft(G_x)

    loss_g = criterion_g(x, G_x, stft_disc(s_x), wave_disc(x), stft_disc(s_G_x), wave_disc(G_x))
    train_loss_g += loss_g.item()
    optimizer_g.zero_grad()
    loss_g.backward(retain_graph=True)
    optimizer_g.step()

    loss_d = criterion_d(stft_disc(s_x), wave_disc(x), stft_disc(s_G_x), wave_disc(G_x))
    train_loss_d += loss_d.item()
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
print(train_loss_g / len(train_loader), train_loss_d / len(train_loader))
