# https://github.com/EricGuo5513/momask-codes/issues/67
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class QuantizeEMA(nn.Module):
    def __init__(self, nb_code, code_dim, mu=0.9):
        super().__init__()
        self.nb_code, self.code_dim, self.mu = nb_code, code_dim, mu
        self.init = False
        self.register_buffer('codebook', torch.zeros(nb_code, code_dim))

    @torch.no_grad()
    def init_codebook(self, x):
        chosen = x[torch.randperm(len(x))[:self.nb_code]]
        self.codebook.copy_(chosen)
        self.code_sum = self.codebook.clone()
        self.code_count = torch.ones(self.nb_code)
        self.init = True

    def quantize(self, x):
        k_w = self.codebook.t()
        distance = x.pow(2).sum(-1, keepdim=True) - 2 * x @ k_w + k_w.pow(2).sum(0, keepdim=True)
        return distance.argmin(-1)

    @torch.no_grad()
    def update_codebook(self, x, code_idx):
        onehot = F.one_hot(code_idx, self.nb_code).float()
        self.code_sum = self.mu * self.code_sum + (1 - self.mu) * onehot.t() @ x
        self.code_count = self.mu * self.code_count + (1 - self.mu) * onehot.sum(0)
        usage = (self.code_count >= 0.05).float().unsqueeze(1)
        code_update = self.code_sum / self.code_count.clamp(min=1e-5).unsqueeze(1)
        code_rand = x[torch.randperm(len(x))[:self.nb_code]]
        self.codebook.copy_(usage * code_update + (1 - usage) * code_rand)
        lost = usage.squeeze(1) == 0
        self.code_sum[lost], self.code_count[lost] = code_rand[lost], 1.0

    def forward(self, x):
        N, width, T = x.shape
        x = x.permute(0, 2, 1).reshape(-1, width)
        if self.training and not self.init:
            self.init_codebook(x)
        code_idx = self.quantize(x)
        x_d = F.embedding(code_idx, self.codebook)
        if self.training:
            self.update_codebook(x, code_idx)
        commit_loss = F.mse_loss(x, x_d.detach())
        # Passthrough
        x_d = x + (x_d - x).detach()
        return x_d.view(N, T, -1).permute(0, 2, 1).contiguous(), code_idx.view(N, T), commit_loss


class ResidualVQ(nn.Module):
    def __init__(self, num_quantizers, **kwargs):
        super().__init__()
        self.layers = nn.ModuleList([QuantizeEMA(**kwargs) for _ in range(num_quantizers)])

    def forward(self, x):
        quantized_out, residual, all_losses = 0.0, x, []
        for layer in self.layers:
            quantized, _, loss = layer(residual)
            residual = residual - quantized.detach()
            quantized_out = quantized_out + quantized
            all_losses.append(loss)
        return quantized_out, torch.stack(all_losses).mean()


class RVQVAE(nn.Module):
    def __init__(self, input_width=6, width=24, code_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(input_width, width, 3, padding=1), nn.ReLU(), nn.Conv1d(width, code_dim, 4, stride=2, padding=1))
        self.quantizer = ResidualVQ(num_quantizers=2, nb_code=16, code_dim=code_dim)
        self.decoder = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv1d(code_dim, width, 3, padding=1), nn.ReLU(), nn.Conv1d(width, input_width, 3, padding=1))

    def forward(self, x):
        x_quantized, commit_loss = self.quantizer(self.encoder(x.permute(0, 2, 1)))
        return self.decoder(x_quantized).permute(0, 2, 1), commit_loss


def motions(n):
    phase, speed = torch.rand(n, 1, 1) * 6.3, torch.rand(n, 1, 1) * 0.2 + 0.3
    return torch.sin(torch.arange(16.0).view(1, 16, 1) * speed + phase + torch.arange(6.0) * 0.8)


# %%
vq_model = RVQVAE()
opt_vq_model = torch.optim.AdamW(vq_model.parameters(), lr=3e-3, betas=(0.9, 0.99))
vq_model.train()
losses, encoder_first = [], vq_model.encoder[0].weight.detach().clone()
for it in range(250):
    motion = motions(64)
    pred_motion, loss_commit = vq_model(motion)
    loss_rec = F.smooth_l1_loss(pred_motion, motion)
    loss = loss_rec + 0.02 * loss_commit
    opt_vq_model.zero_grad()
    loss.backward()
    opt_vq_model.step()
    losses.append(loss_rec.item())

# %%
vq_model.eval()
z = vq_model.encoder(motions(4).permute(0, 2, 1)).detach().requires_grad_(True)
quantized, _, _ = vq_model.quantizer.layers[0](z)
passed, = torch.autograd.grad(quantized.sum(), z)
encoder_moved = (vq_model.encoder[0].weight.detach() - encoder_first).abs().max().item()
print(losses[0], losses[-1], encoder_moved, passed.unique())
assert torch.equal(passed, torch.ones_like(passed))
assert all(p.grad is not None for p in vq_model.parameters())
assert losses[-1] < 0.3 * losses[0] and encoder_moved > 0.01
