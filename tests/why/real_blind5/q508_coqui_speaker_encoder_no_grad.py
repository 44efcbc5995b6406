# https://github.com/coqui-ai/TTS/issues/2348
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TorchSpec(nn.Module):
    def __init__(self, n_fft=16, hop=8):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("basis", torch.randn(n_fft, 12))

    def forward(self, x):
        return (x.unfold(-1, self.n_fft, self.hop) @ self.basis).abs()


class ResNetSpeakerEncoder(nn.Module):
    def __init__(self, proj_dim=6, log_input=True):
        super().__init__()
        self.log_input = log_input
        self.torch_spec = TorchSpec()
        self.layers = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, proj_dim))

    def forward(self, x, l2_norm=False):
        """Computes the d-vector of waveforms of shape (N, T)."""
        with torch.no_grad():
            x = self.torch_spec(x)
            if self.log_input:
                x = (x + 1e-6).log()
        x = self.layers(x).mean(1)
        return F.normalize(x, p=2, dim=1) if l2_norm else x


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 64))

    def forward(self, text, spk):
        return self.net(torch.cat([text, spk], 1))


# %%
generator = Generator()
speaker_encoder = ResNetSpeakerEncoder()
for p in speaker_encoder.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW(generator.parameters(), lr=2e-4)
SPEAKER_ENCODER_LOSS_ALPHA = 9.0

# %%
for step in range(3):
    text, spk, wav = torch.randn(4, 4), torch.randn(4, 6), torch.randn(4, 64)
    model_outputs = generator(text, spk)
    gt_spk_emb = speaker_encoder(wav, l2_norm=True)
    syn_spk_emb = speaker_encoder(model_outputs, l2_norm=True)
    loss_se = -F.cosine_similarity(gt_spk_emb, syn_spk_emb).mean() * SPEAKER_ENCODER_LOSS_ALPHA
    loss_mel = F.l1_loss(model_outputs, wav)
    loss = loss_mel + loss_se
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss_mel.item(), loss_se.item())
