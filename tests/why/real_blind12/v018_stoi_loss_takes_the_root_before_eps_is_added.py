# https://github.com/mpariente/pytorch_stoi/pull/14
import torch
import torch.nn as nn

torch.manual_seed(0)
EPS = 1e-8
N_FRAME, N_FFT, N = 64, 128, 10


class NegSTOILoss(nn.Module):
    def __init__(self, bands=8):
        super().__init__()
        obm = torch.zeros(bands, N_FFT // 2 + 1)
        width = obm.shape[1] // bands
        for band in range(bands):
            obm[band, band * width:(band + 1) * width] = 1
        self.register_buffer("OBM", obm)
        self.register_buffer("win", torch.hann_window(N_FRAME))

    def stft(self, x):
        return torch.stft(x, N_FFT, hop_length=N_FRAME // 2, win_length=N_FRAME, window=self.win,
                          center=False, return_complex=True)

    def forward(self, est_targets, targets):
        x_spec = self.stft(targets)
        y_spec = self.stft(est_targets)
        # Apply OB matrix to the spectrograms
        x_tob = torch.matmul(self.OBM, x_spec.abs().pow(2)).sqrt() + EPS
        y_tob = torch.matmul(self.OBM, y_spec.abs().pow(2)).sqrt() + EPS
        # N time frames
        x_seg, y_seg = x_tob.unfold(-1, N, 1), y_tob.unfold(-1, N, 1)
        x_seg = x_seg - x_seg.mean(-1, keepdim=True)
        y_seg = y_seg - y_seg.mean(-1, keepdim=True)
        x_seg = x_seg / (x_seg.norm(p=2, dim=-1, keepdim=True) + EPS)
        y_seg = y_seg / (y_seg.norm(p=2, dim=-1, keepdim=True) + EPS)
        return -(x_seg * y_seg).sum(-1).mean()


class Enhancer(nn.Module):
    """Multiplies the noisy speech by a gain in 0..1."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 9, padding=4), nn.ReLU(), nn.Conv1d(8, 1, 9, padding=4))

    def forward(self, x):
        return x * torch.sigmoid(self.conv(x.unsqueeze(1)).squeeze(1))


# %%
net = Enhancer()
loss_func = NegSTOILoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
clean = torch.randn(4, 1600) * torch.sin(torch.arange(1600) / 20)
noisy = clean + 0.3 * torch.randn(4, 1600)
# one recording begins with digital silence
clean[0, :400], noisy[0, :400] = 0, 0

# %%
for step in range(3):
    optimizer.zero_grad()
    loss = loss_func(net(noisy), clean)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
