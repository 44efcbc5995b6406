# https://github.com/espnet/espnet/pull/3904
import torch
from torch.nn import functional as F

torch.manual_seed(0)


def get_power_spectral_density_matrix(data, mask, eps=1e-10):
    """Weighted mean over time of the products of all pairs of channels: (B, F, C, T) -> (B, F, C, C)"""
    weight = mask.mean(dim=2)
    weight = weight / (weight.sum(dim=2, keepdim=True) + eps)
    return torch.einsum("bft,bfct,bfdt->bfcd", weight.to(data.dtype), data, data.conj())


def get_mvdr_vector(psd_speech, psd_noise, u, eps=1e-5):
    identity = torch.eye(psd_noise.size(-1), dtype=psd_noise.dtype)
    ratio = torch.linalg.solve(psd_noise + eps * identity, psd_speech)
    trace = torch.einsum("bfcc->bf", ratio) + eps
    return torch.einsum("bfcd,bd->bfc", ratio, u.to(ratio.dtype)) / trace[..., None]


class MaskEstimator(torch.nn.Module):
    def __init__(self, idim, units):
        super().__init__()
        self.brnn = torch.nn.LSTM(idim, units, batch_first=True, bidirectional=True)
        self.linears = torch.nn.ModuleList(torch.nn.Linear(2 * units, idim) for _ in range(2))

    def forward(self, data):
        batch, freq, channels, time = data.shape
        features = torch.log1p(data.abs()).permute(0, 2, 3, 1).flatten(0, 1)
        hidden, _ = self.brnn(features)
        masks = (linear(hidden).sigmoid() for linear in self.linears)
        return [mask.view(batch, channels, time, freq).permute(0, 3, 1, 2) for mask in masks]


class AttentionReference(torch.nn.Module):
    """Softly chooses the reference microphone by the cross power of each with the others."""

    def __init__(self, bidim, att_dim, scaling=2.0):
        super().__init__()
        self.mlp_psd = torch.nn.Linear(bidim, att_dim)
        self.gvec = torch.nn.Linear(att_dim, 1)
        self.scaling = scaling

    def forward(self, psd_in):
        channels = psd_in.size(-1)
        diagonal = torch.eye(channels, dtype=torch.bool)
        psd = psd_in.masked_fill(diagonal, 0).sum(dim=-1) / (channels - 1)
        psd = psd.transpose(1, 2)  # (B, C, F)

        psd_feat = (psd.real**2 + psd.imag**2) ** 0.5

        energy = self.gvec(torch.tanh(self.mlp_psd(psd_feat))).squeeze(-1)
        return F.softmax(self.scaling * energy, dim=-1)


class DNN_Beamformer(torch.nn.Module):
    def __init__(self, bidim, bunits=32, badim=32):
        super().__init__()
        self.mask = MaskEstimator(bidim, bunits)
        self.ref = AttentionReference(bidim, badim)

    def forward(self, data):
        data = data.permute(0, 3, 2, 1)  # (B, T, C, F) -> (B, F, C, T)
        mask_speech, mask_noise = self.mask(data)
        psd_speech = get_power_spectral_density_matrix(data, mask_speech)
        psd_noise = get_power_spectral_density_matrix(data, mask_noise)
        ws = get_mvdr_vector(psd_speech, psd_noise, self.ref(psd_speech))
        return torch.einsum("bfc,bfct->btf", ws.conj(), data)


# %%
n_fft, channels = 32, 4
clean = torch.randn(2, 800)
noisy = clean[:, None] + 0.3 * torch.randn(2, channels, 800)
noisy[1, 1:] = 0
window = torch.hann_window(n_fft)
spec = torch.stft(noisy.flatten(0, 1), n_fft, window=window, return_complex=True)
spec = spec.unflatten(0, (2, channels)).permute(0, 3, 1, 2)
target = torch.stft(clean, n_fft, window=window, return_complex=True).transpose(1, 2)

model = DNN_Beamformer(bidim=n_fft // 2 + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(3):
    error = model(spec) - target
    loss = (error.real ** 2 + error.imag ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
