# https://github.com/lucidrains/denoising-diffusion-pytorch/issues/109
import torch
import torch.nn.functional as F
from torch import nn


class Unet1D(nn.Module):
    def __init__(self, dim, channels):
        super().__init__()
        self.init_conv = nn.Conv1d(channels, dim, 7, padding=3)
        self.time_mlp = nn.Sequential(nn.Linear(1, dim), nn.GELU(), nn.Linear(dim, dim))
        self.block1 = nn.Sequential(nn.Conv1d(dim, dim, 3, padding=1), nn.GroupNorm(2, dim), nn.SiLU())
        self.block2 = nn.Sequential(nn.Conv1d(dim, dim, 3, padding=1), nn.GroupNorm(2, dim), nn.SiLU())
        self.final_conv = nn.Conv1d(dim, channels, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        t = self.time_mlp(time.float()[:, None])
        h = self.block1(x) + t[:, :, None]
        return self.final_conv(self.block2(h) + x)


class GaussianDiffusion1D(nn.Module):
    def __init__(self, model, seq_length, timesteps=50):
        super().__init__()
        self.model = model
        self.seq_length = seq_length
        self.num_timesteps = timesteps
        alphas_cumprod = torch.cumprod(1.0 - torch.linspace(1e-3, 0.1, timesteps), dim=0)
        self.register_buffer('sqrt_alphas_cumprod', torch.sqrt(alphas_cumprod))
        self.register_buffer('sqrt_one_minus_alphas_cumprod', torch.sqrt(1.0 - alphas_cumprod))

    def q_sample(self, x_start, t, noise):
        a, b = self.sqrt_alphas_cumprod[t], self.sqrt_one_minus_alphas_cumprod[t]
        return a[:, None, None] * x_start + b[:, None, None] * noise

    def forward(self, img):
        b, c, n = img.shape
        assert n == self.seq_length, f'seq length must be {self.seq_length}'
        t = torch.randint(0, self.num_timesteps, (b,)).long()
        noise = torch.randn_like(img)
        model_out = self.model(self.q_sample(img, t, noise), t)
        return F.mse_loss(model_out, noise)


# %%
raw = torch.randn(16, 5, 32)  # 5 channels, the network takes 4
conv1D = nn.Conv1d(5, 4, kernel_size=1)
training_data = conv1D(raw)

# %%
class Trainer:
    def __init__(self, diffusion_model, data, train_batch_size=8, train_lr=8e-5, train_num_steps=3):
        self.model = diffusion_model
        self.data = data
        self.batch_size = train_batch_size
        self.train_num_steps = train_num_steps
        self.opt = torch.optim.Adam(diffusion_model.parameters(), lr=train_lr, betas=(0.9, 0.99))
        self.step = 0

    def train(self):
        while self.step < self.train_num_steps:
            data = self.data[torch.randperm(len(self.data))[:self.batch_size]]
            loss = self.model(data)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
            self.step += 1
            print(f'loss: {loss.item():.4f}')


# %%
diffusion = GaussianDiffusion1D(Unet1D(dim=8, channels=4), seq_length=32)
trainer = Trainer(diffusion, training_data)

# %%
trainer.train()
