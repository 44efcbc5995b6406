# https://github.com/asteroid-team/asteroid/issues/90
import torch
import torch.nn as nn

torch.manual_seed(0)


class SingleSrcPMSQE(nn.Module):
    def __init__(self, n_bins=33, n_bark=12, alpha=0.1, beta=0.309 * 0.1, eps=1e-8):
        super().__init__()
        self.alpha, self.beta, self.eps = alpha, beta, eps
        edges = torch.linspace(0, n_bins, n_bark + 1).round().long()
        bark = torch.zeros(n_bins, n_bark)
        for b in range(n_bark):
            bark[edges[b]:edges[b + 1], b] = 1
        self.register_buffer("bark_matrix", bark)
        self.register_buffer("abs_thresh_power", torch.linspace(0.02, 0.01, n_bark))
        self.register_buffer("width_of_band", torch.linspace(0.5, 1.0, n_bark))

    def to_bark(self, spectra):
        return spectra @ self.bark_matrix

    def loudness_computation(self, bark_spectra):
        loud = ((bark_spectra + self.eps) / self.abs_thresh_power).pow(0.23) - 1
        return torch.where(bark_spectra < self.abs_thresh_power, torch.zeros_like(loud), loud)

    def compute_distortion_tensors(self, bark_est, bark_ref):
        est_loud, ref_loud = self.loudness_computation(bark_est), self.loudness_computation(bark_ref)
        r = (est_loud - ref_loud).abs()
        m = 0.25 * torch.min(est_loud, ref_loud)
        sd = torch.max(r - m, torch.zeros_like(r))
        return sd, est_loud, ref_loud

    def per_frame_distortion(self, sd, asymmetry):
        d_frame = torch.sum((self.width_of_band * sd).pow(2), dim=-1)
        d_frame = d_frame.pow(0.5) * self.width_of_band.sum().sqrt()
        da_frame = torch.sum(self.width_of_band * asymmetry, dim=-1)
        return d_frame, da_frame

    def forward(self, est_targets, targets):
        bark_est, bark_ref = self.to_bark(est_targets), self.to_bark(targets)
        sd, _, _ = self.compute_distortion_tensors(bark_est, bark_ref)
        ratio = ((bark_est + 50) / (bark_ref + 50)).pow(1.2)
        asymmetry = torch.where(ratio < 1.05, torch.zeros_like(ratio), ratio.clamp(max=12)) * sd
        d_frame, da_frame = self.per_frame_distortion(sd, asymmetry)
        return (self.alpha * d_frame + self.beta * da_frame).mean()


class Masker(nn.Module):
    def __init__(self, n_bins=33, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(n_bins, hidden, batch_first=True)
        self.mask = nn.Linear(hidden, n_bins)

    def forward(self, spectra):
        out, _ = self.rnn(torch.log1p(spectra))
        return torch.sigmoid(self.mask(out)) * spectra


# %%
clean = torch.rand(4, 40, 33).pow(4) * 5
clean[:, 30:] = 0
noisy = clean + 0.05 * torch.rand_like(clean) * (clean > 0)
model = Masker()
loss_func = SingleSrcPMSQE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
torch.autograd.set_detect_anomaly(True, check_nan=True)
try:
    for epoch in range(3):
        optimizer.zero_grad()
        loss = loss_func(model(noisy), clean)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
finally:
    torch.autograd.set_detect_anomaly(False)
