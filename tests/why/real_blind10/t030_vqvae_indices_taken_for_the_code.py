# https://github.com/ritheshkumar95/pytorch-vqvae/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class hp:
    K, D, Q, BATCH_SIZE, T = 32, 8, 16, 2, 40


class VQEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(hp.K, hp.D)
        self.embedding.weight.data.uniform_(-1./hp.K, 1./hp.K)

    def forward(self, z_e_x):
        # z_e_x  - (B, D, T)
        # emb - (K, D)
        emb = self.embedding.weight
        dists = torch.pow(z_e_x.unsqueeze(1) - emb[None, :, :, None], 2)

        z_q_x = dists.min(1)[1].float()
        return z_q_x


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(hp.Q, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, hp.D, 3, padding=1))
        self.codebook = VQEmbedding()
        self.decoder = nn.Sequential(nn.Conv1d(hp.D + 4, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, hp.Q, 3, padding=1))

    def forward(self, x, speaker):
        z_e_x = self.encoder(x)
        z_q_x = self.codebook(z_e_x)
        x_recon = self.decoder(torch.cat([z_q_x, speaker[:, :, None].expand(-1, -1, hp.T)], dim=1))
        return x_recon, z_e_x, z_q_x


cross_entropy_loss = nn.CrossEntropyLoss()
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
quantized_audio = torch.randint(0, hp.Q, (hp.BATCH_SIZE, hp.T))
qt_var = F.one_hot(quantized_audio, hp.Q).float().transpose(1, 2)
speaker_var = torch.eye(4)[:hp.BATCH_SIZE]

# %%
optimizer.zero_grad()
x_recon, z_e_x, z_q_x = model(qt_var, speaker_var)
z_q_x.retain_grad()

loss_recon = cross_entropy_loss(x_recon.transpose(1, 2).reshape(-1, hp.Q), quantized_audio.view(-1).long())

loss_recon.backward(retain_graph=True)

# Staright-through estimator
z_e_x.backward(z_q_x.grad, retain_graph=True)
optimizer.step()
