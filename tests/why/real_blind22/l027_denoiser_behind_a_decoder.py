# https://stackoverflow.com/questions/74816476/pytorch-how-to-train-model-with-loss-that-dont-return-gradient
import torch
import torch.nn as nn

torch.manual_seed(0)


class Codec(nn.Module):
    def __init__(self, dim=16, stride=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, dim, 2 * stride, stride, padding=stride // 2), nn.ELU(),
                                     nn.Conv1d(dim, dim, 3, padding=1))
        self.decoder = nn.Sequential(nn.Conv1d(dim, dim, 3, padding=1), nn.ELU(),
                                     nn.ConvTranspose1d(dim, 1, 2 * stride, stride, padding=stride // 2))

    def encode(self, audio):
        return self.encoder(audio)

    def decode(self, latent):
        return self.decoder(latent)


class LatentTransformer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=1)
        self.out = nn.Linear(dim, dim)

    def forward(self, latent):
        h = self.layers(latent.transpose(1, 2))
        return latent + self.out(h).transpose(1, 2)


def make_batch(n=8, length=256):
    t = torch.arange(length) / length
    clean = torch.sin(2 * torch.pi * (torch.rand(n, 1, 1) * 6 + 2) * t)
    return clean, clean + 0.3 * torch.randn_like(clean)


# %%
codec = Codec()
codec_optimizer = torch.optim.Adam(codec.parameters(), lr=3e-3)
for _ in range(40):
    clean, _ = make_batch()
    codec_optimizer.zero_grad()
    nn.functional.l1_loss(codec.decode(codec.encode(clean)), clean).backward()
    codec_optimizer.step()
codec.eval()

# %%
model = LatentTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.L1Loss()

# %%
before = [p.detach().clone() for p in model.parameters()]
losses = []
for step in range(20):
    clean, noisy = make_batch()
    with torch.no_grad():
        latent = codec.encode(noisy)
    denoised_latent = model(latent)
    with torch.no_grad():
        denoised = codec.decode(denoised_latent)
    loss = criterion(denoised, clean)
    loss.requires_grad_(True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
print(any(not torch.equal(a, b) for a, b in zip(before, model.parameters())))
