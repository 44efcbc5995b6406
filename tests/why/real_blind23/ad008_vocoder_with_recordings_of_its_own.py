# https://github.com/bshall/hifigan/issues/4
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
random.seed(0)


class LogMelSpectrogram(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(128))
        self.register_buffer("basis", torch.rand(16, 65) / 65)

    def forward(self, wav):
        wav = F.pad(wav, ((128 - 32) // 2, (128 - 32) // 2), "reflect")
        spec = torch.stft(wav.squeeze(1), 128, 32, 128, self.window, center=False, return_complex=True)
        mel = self.basis @ torch.sqrt(spec.real.pow(2) + spec.imag.pow(2) + 1e-9)
        return torch.log(torch.clamp(mel, min=1e-5))


class MelDataset(Dataset):
    def __init__(self, wavs, segment_length, train=True):
        self.wavs = wavs
        self.segment_length = segment_length
        self.train = train
        self.logmel = LogMelSpectrogram()

    def __len__(self):
        return len(self.wavs)

    def __getitem__(self, index):
        wav = self.wavs[index]
        frame_diff = wav.size(-1) - self.segment_length
        frame_offset = random.randint(0, max(frame_diff, 0))
        wav = wav[:, frame_offset:frame_offset + self.segment_length]

        if wav.size(-1) < self.segment_length:
            wav = F.pad(wav, (0, self.segment_length - wav.size(-1)))

        if self.train:
            gain = random.random() * (0.99 - 0.4) + 0.4
            flip = -1 if random.random() > 0.5 else 1
            wav = flip * gain * wav / wav.abs().max()

        tgt_logmel = self.logmel(wav.unsqueeze(0)).squeeze(0)
        src_logmel = tgt_logmel.clone()
        return wav, src_logmel, tgt_logmel


class HifiganGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_pre = nn.Conv1d(16, 32, 7, 1, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(32, 16, 16, 8, 4), nn.ConvTranspose1d(16, 8, 8, 4, 2)])
        self.conv_post = nn.Conv1d(8, 1, 7, 1, padding=3)

    def forward(self, x):
        x = self.conv_pre(x)
        for up in self.ups:
            x = up(F.leaky_relu(x, 0.1))
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


class Discriminator(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv1d(1, 8, 15, 4), nn.LeakyReLU(0.1), nn.Conv1d(8, 1, 15, 4))


# %%
def speech(seconds, pause):
    t = torch.arange(int(seconds * 4000)) / 4000
    wav = 0.3 * torch.sin(2 * torch.pi * (120 + 80 * random.random()) * t) + 0.05 * torch.randn_like(t)
    wav[:pause] = 0
    return wav.unsqueeze(0)


wavs = [speech(0.6, pause) for pause in [0, 300, 0, 900, 200, 0, 500, 1500, 0, 100, 0, 400]]
train_loader = DataLoader(MelDataset(wavs, segment_length=1024), batch_size=4, shuffle=True, drop_last=True)

# %%
generator, discriminator, logmel = HifiganGenerator(), Discriminator(), LogMelSpectrogram()
logmel.load_state_dict(train_loader.dataset.logmel.state_dict())
optimizer_generator = torch.optim.AdamW(generator.parameters(), lr=1e-3, betas=(0.8, 0.99))
optimizer_discriminator = torch.optim.AdamW(discriminator.parameters(), lr=1e-3, betas=(0.8, 0.99))

# %%
history = []
for epoch in range(1, 9):
    for wavs, mels, tgts in train_loader:
        # Discriminator
        optimizer_discriminator.zero_grad()
        wavs_ = generator(mels)
        mels_ = logmel(wavs_)
        loss_discriminator = (1 - discriminator(wavs)).pow(2).mean() + discriminator(wavs_.detach()).pow(2).mean()
        loss_discriminator.backward()
        optimizer_discriminator.step()

        # Generator
        optimizer_generator.zero_grad()
        loss_mel = F.l1_loss(mels_, tgts)
        loss_generator = 45 * loss_mel + (1 - discriminator(wavs_)).pow(2).mean()
        loss_generator.backward()
        optimizer_generator.step()
        history.append(loss_mel.item())
    print(f"train -- epoch: {epoch}, mel loss: {history[-1]:.4f}, discriminator loss: {loss_discriminator.item():.4f}")
