# https://github.com/lucidrains/denoising-diffusion-pytorch/issues/251
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim import Adam

torch.manual_seed(0)


def exists(x):
    return x is not None


def cycle(dl):
    while True:
        for data in dl:
            yield data


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Unet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.init_conv = nn.Conv2d(1, dim, 3, padding=1)
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 2 * dim))
        self.down, self.mid = nn.Conv2d(dim, dim, 4, 2, 1), nn.Conv2d(dim, dim, 3, padding=1)
        self.up = nn.ConvTranspose2d(dim, dim, 4, 2, 1)
        self.norm = nn.GroupNorm(4, dim)
        self.final_conv = nn.Conv2d(2 * dim, 1, 3, padding=1)

    def forward(self, x, time):
        scale, shift = self.time_mlp(time)[:, :, None, None].chunk(2, dim=1)
        x = self.init_conv(x)
        r = x.clone()
        x = F.silu(self.norm(self.down(x)) * (scale + 1) + shift)
        x = self.up(F.silu(self.mid(x)) + x)
        return self.final_conv(torch.cat((F.silu(x), r), dim=1))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=100):
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        alphas_cumprod = torch.cumprod(1. - torch.linspace(1e-3, 0.08, timesteps), dim=0)
        self.register_buffer('sqrt_alphas_cumprod', torch.sqrt(alphas_cumprod))
        self.register_buffer('sqrt_one_minus_alphas_cumprod', torch.sqrt(1. - alphas_cumprod))

    def q_sample(self, x_start, t, noise):
        a, b = (k[t].reshape(-1, 1, 1, 1) for k in (self.sqrt_alphas_cumprod, self.sqrt_one_minus_alphas_cumprod))
        return a * x_start + b * noise

    def forward(self, img):
        t = torch.randint(0, self.num_timesteps, (img.shape[0],)).long()
        noise = torch.randn_like(img)
        return F.mse_loss(self.model(self.q_sample(img * 2 - 1, t, noise), t), noise)


class Accelerator:
    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, parameters, max_norm):
        return nn.utils.clip_grad_norm_(parameters, max_norm)


class Trainer:
    def __init__(self, diffusion_model, dataset, *, train_batch_size=16, gradient_accumulate_every=1, train_lr=1e-4, train_num_steps=100000, max_grad_norm=1.):
        self.accelerator = Accelerator()
        self.model = diffusion_model
        self.gradient_accumulate_every = gradient_accumulate_every
        self.train_num_steps = train_num_steps
        self.max_grad_norm = max_grad_norm
        self.dl = cycle(torch.utils.data.DataLoader(dataset, batch_size=train_batch_size, shuffle=True))
        self.opt = Adam(diffusion_model.parameters(), lr=train_lr, betas=(0.9, 0.99))
        self.step, self.history = 0, []

    def train(self):
        while self.step < self.train_num_steps:
            total_loss = 0.

            for _ in range(self.gradient_accumulate_every):
                data = next(self.dl)
                loss = self.model(data)
                loss = loss / self.gradient_accumulate_every
                total_loss += loss.item()

                self.accelerator.backward(loss)

            self.accelerator.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
            self.history.append(total_loss)

            self.opt.step()
            self.opt.zero_grad()
            self.step += 1


# %%
dataset = torch.zeros(800, 1, 8, 8)
dataset[torch.arange(800), :, torch.randint(0, 8, (800,))] = 1
diffusion = GaussianDiffusion(Unet(16))
trainer = Trainer(diffusion, dataset, train_batch_size=16, train_lr=3e-3, train_num_steps=90, gradient_accumulate_every=2)
trainer.train()

# %%
halves = dataset[:16], dataset[16:32]
torch.manual_seed(1)
for half in halves:
    trainer.accelerator.backward(diffusion(half) / 2)
accumulated = [p.grad.clone() for p in diffusion.parameters()]
torch.manual_seed(1)
both = torch.autograd.grad(sum(diffusion(half) / 2 for half in halves), list(diffusion.parameters()))
same = all(torch.allclose(a, b, atol=1e-6) for a, b in zip(accumulated, both))
history = trainer.history
late = sum(history[-20:]) / 20
print(history[0], late, same)
assert same and late < 0.4 * history[0] and type(history[-1]) is float
