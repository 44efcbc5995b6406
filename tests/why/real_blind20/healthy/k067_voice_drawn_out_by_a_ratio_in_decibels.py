# https://github.com/zexupan/MuSE/issues/2
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

EPS = 1e-6


def cal_SISNR(source, estimate_source):
    """Calcuate Scale-Invariant Source-to-Noise Ratio (SI-SNR)
    Args:
        source: torch tensor, [batch size, sequence length]
        estimate_source: torch tensor, [batch size, sequence length]
    Returns:
        SISNR, [batch size]
    """
    assert source.size() == estimate_source.size()

    # Step 1. Zero-mean norm
    source = source - torch.mean(source, axis=-1, keepdim=True)
    estimate_source = estimate_source - torch.mean(estimate_source, axis=-1, keepdim=True)

    # Step 2. SI-SNR
    # s_target = <s', s>s / ||s||^2
    ref_energy = torch.sum(source ** 2, axis=-1, keepdim=True) + EPS
    proj = torch.sum(source * estimate_source, axis=-1, keepdim=True) * source / ref_energy
    # e_noise = s' - s_target
    noise = estimate_source - proj
    # SI-SNR = 10 * log_10(||s_target||^2 / ||e_noise||^2)
    ratio = torch.sum(proj ** 2, axis=-1) / (torch.sum(noise ** 2, axis=-1) + EPS)
    sisnr = 10 * torch.log10(ratio + EPS)

    return sisnr


class muse(nn.Module):
    def __init__(self, N=32, L=8, C=2, B=16):
        super(muse, self).__init__()
        self.encoder = nn.Conv1d(1, N, L, stride=L // 2, bias=False)
        self.v_net = nn.Linear(4, B)
        self.bottleneck = nn.Conv1d(N, B, 1)
        self.tcn = nn.ModuleList([nn.Conv1d(2 * B, B, 3, padding=d, dilation=d) for d in (1, 2, 4)])
        self.mask = nn.Conv1d(B, N, 1)
        self.pred = nn.Linear(B, C)
        self.decoder = nn.ConvTranspose1d(N, 1, L, stride=L // 2, bias=False)

    def forward(self, mixture, visual):
        mixture_w = F.relu(self.encoder(mixture.unsqueeze(1)))
        v = self.v_net(visual).unsqueeze(2).expand(-1, -1, mixture_w.size(2))
        x, speakers = self.bottleneck(mixture_w), []
        for layer in self.tcn:
            x = x + F.relu(layer(torch.cat([x, v], 1)))
            speakers.append(self.pred(x.mean(2)))
        est_source = mixture_w * F.relu(self.mask(x))
        return speakers, self.decoder(est_source).squeeze(1)


def mixtures(n):
    """A low voice and a high one; the lips tell which one is meant."""
    t = torch.arange(128) / 128
    low = torch.sin(2 * math.pi * (3 + 2 * torch.rand(n, 1)) * t + 6 * torch.rand(n, 1))
    high = torch.sin(2 * math.pi * (18 + 6 * torch.rand(n, 1)) * t + 6 * torch.rand(n, 1))
    speaker = torch.randint(0, 2, (n,))
    a_tgt = torch.where(speaker.unsqueeze(1) == 0, low, high)
    v_tgt = F.one_hot(speaker, 2).repeat(1, 2).float() + 0.1 * torch.randn(n, 4)
    return low + high, a_tgt, v_tgt, speaker


class Solver(object):
    def __init__(self, model, optimizer, max_norm=5):
        self.model, self.optimizer, self.max_norm = model, optimizer, max_norm
        self.ae_loss = nn.CrossEntropyLoss()

    def _run_one_epoch(self, steps, state):
        total_loss = 0
        for i in range(steps):
            a_mix, a_tgt, v_tgt, speaker = mixtures(16)
            est_speaker, est_a_tgt = self.model(a_mix, v_tgt)
            max_snr = cal_SISNR(a_tgt, est_a_tgt)

            sisnr_loss = 0 - torch.mean(max_snr)
            speaker_loss = self.ae_loss(est_speaker[0], speaker) + \
                           self.ae_loss(est_speaker[1], speaker) + \
                           self.ae_loss(est_speaker[2], speaker)
            loss = sisnr_loss + 0.1 * speaker_loss

            if state == 'train':
                self.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                self.optimizer.step()
            else:
                loss = 0 - torch.mean(max_snr)

            total_loss += loss.data
        return total_loss / (i + 1)


# %%
model = muse()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
solver = Solver(model, optimizer)
tr_losses = []
for epoch in range(1, 6):
    model.train()
    tr_losses.append(solver._run_one_epoch(50, 'train').item())
    print('Train Summary | End of Epoch {0} | Train Loss {1:.3f}'.format(epoch, tr_losses[-1]))

# %%
model.eval()
with torch.no_grad():
    test_loss = solver._run_one_epoch(10, 'test').item()
    a_mix, a_tgt, v_tgt, speaker = mixtures(200)
    of_mixture = cal_SISNR(a_tgt, a_mix).mean().item()
print(tr_losses, test_loss, of_mixture)
assert tr_losses[-1] < 0 and tr_losses[-1] < tr_losses[0] and -test_loss > of_mixture + 5
