# https://github.com/speechbrain/speechbrain/issues/181
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class STFT(nn.Module):
    def __init__(self, n_fft=64, hop_length=32):
        super().__init__()
        self.n_fft, self.hop_length = n_fft, hop_length
        self.register_buffer("window", torch.hamming_window(n_fft))

    def forward(self, x):
        stft = torch.stft(x, self.n_fft, self.hop_length, window=self.window, center=False, return_complex=True)
        return torch.view_as_real(stft).transpose(1, 2)


def spectral_magnitude(stft, power=1, log=False, eps=1e-14):
    spectr = stft.pow(2).sum(-1)
    spectr = torch.pow(spectr, power)
    if log:
        return torch.log(spectr + eps)
    return spectr


class Enhancer(nn.Module):
    def __init__(self, channels=8, kernel_size=9):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, kernel_size, padding=kernel_size // 2, bias=False)
        self.conv2 = nn.Conv1d(channels, channels, kernel_size, padding=kernel_size // 2, bias=False)
        self.conv3 = nn.Conv1d(channels, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, wav):
        x = torch.tanh(self.conv1(wav.unsqueeze(1)))
        x = torch.tanh(self.conv2(x))
        return self.conv3(x).squeeze(1)


def make_batch(lengths, max_length=512):
    clean = torch.zeros(len(lengths), max_length)
    for i, length in enumerate(lengths):
        t = torch.arange(length) / 512
        clean[i, :length] = torch.sin(2 * torch.pi * (20 + 10 * i) * t)
    noisy = clean + 0.1 * torch.randn_like(clean) * (clean != 0)
    return noisy, clean


# %%
compute_stft = STFT()
model = Enhancer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
batches = [make_batch([512, 512, 512, 512]), make_batch([512, 480, 496, 512]), make_batch([512, 352, 256, 448])]


def compute_objectives(enhanced, clean):
    enhanced_mag = spectral_magnitude(compute_stft(enhanced), power=0.5)
    clean_mag = spectral_magnitude(compute_stft(clean), power=0.5)
    return F.l1_loss(enhanced_mag, clean_mag)


# %%
losses = []
for epoch in range(3):
    for noisy, clean in batches:
        loss = compute_objectives(model(noisy), clean)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
print(losses)
