# https://github.com/lucidrains/denoising-diffusion-pytorch/blob/main/denoising_diffusion_pytorch/denoising_diffusion_pytorch_1d.py
import copy
from random import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam

torch.manual_seed(0)


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class Unet1D(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.channels, self.self_condition = 1, True
        self.init_conv = nn.Conv1d(2, dim, 3, padding=1)
        self.time_mlp = nn.Sequential(nn.Linear(1, dim), nn.GELU())
        self.final_conv = nn.Conv1d(dim, 1, 1)

    def forward(self, x, time, x_self_cond=None):
        x_self_cond = x_self_cond if x_self_cond is not None else torch.zeros_like(x)
        x = torch.cat((x_self_cond, x), dim=1)
        return self.final_conv(
            self.init_conv(x) + self.time_mlp(time[:, None].float() / 10)[:, :, None]
        )


class GaussianDiffusion1D(nn.Module):
    def __init__(self, model, timesteps=10):
        super().__init__()
        self.model, self.num_timesteps = model, timesteps
        betas = torch.linspace(1e-4, 0.02, timesteps)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("betas", betas)
        self.register_buffer("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        self.register_buffer("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))
        self.register_buffer("loss_weight", torch.ones(timesteps))

    def predict_start_from_noise(self, x_t, t, noise):
        return (x_t - extract(self.sqrt_one_minus_alphas_cumprod, t, x_t.shape) * noise) / extract(
            self.sqrt_alphas_cumprod, t, x_t.shape
        )

    @torch.no_grad()
    def sample(self, batch_size=2):
        img, x_start = torch.randn(batch_size, 1, 16), None
        for t in reversed(range(self.num_timesteps)):
            times = torch.full((batch_size,), t, dtype=torch.long)
            noise = self.model(img, times, x_start)
            x_start = self.predict_start_from_noise(img, times, noise)
            x_start.clamp_(-1.0, 1.0)
            img = x_start
        return img

    def q_sample(self, x_start, t, noise):
        return (
            extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
            + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise
        )

    def forward(self, img):
        t = torch.randint(0, self.num_timesteps, (img.shape[0],)).long()
        x_start = img * 2 - 1
        noise = torch.randn_like(x_start)
        x = self.q_sample(x_start, t, noise)
        x_self_cond = None
        if self.model.self_condition and random() < 0.5:
            with torch.no_grad():
                x_self_cond = self.predict_start_from_noise(x, t, self.model(x, t))
                x_self_cond.detach_()
        model_out = self.model(x, t, x_self_cond)
        loss = F.mse_loss(model_out, noise, reduction="none")
        loss = loss.flatten(1).mean(1)
        loss = loss * extract(self.loss_weight, t, loss.shape)
        return loss.mean()


class Trainer1D:
    def __init__(self, diffusion_model, gradient_accumulate_every=2, train_num_steps=4):
        self.model = diffusion_model
        self.gradient_accumulate_every, self.train_num_steps = (
            gradient_accumulate_every,
            train_num_steps,
        )
        self.opt = Adam(diffusion_model.parameters(), lr=1e-3, betas=(0.9, 0.99))
        self.ema = copy.deepcopy(diffusion_model).requires_grad_(False)
        self.step = 0

    def train(self):
        while self.step < self.train_num_steps:
            self.model.train()
            total_loss = 0.0
            for _ in range(self.gradient_accumulate_every):
                data = torch.rand(4, 1, 16)
                loss = self.model(data)
                loss = loss / self.gradient_accumulate_every
                total_loss += loss.item()
                loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
            self.step += 1
            for ma, p in zip(self.ema.parameters(), self.model.parameters()):
                ma.lerp_(p.data, 0.005)
            if self.step % 2 == 0:
                self.ema.eval()
                with torch.no_grad():
                    all_images = self.ema.sample()
            print(f"loss: {total_loss:.4f}")


diffusion = GaussianDiffusion1D(Unet1D())
trainer = Trainer1D(diffusion)
before = diffusion.model.init_conv.weight.detach().clone()

# %%
trainer.train()
