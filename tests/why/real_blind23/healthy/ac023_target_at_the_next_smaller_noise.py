# https://github.com/openai/consistency_models/blob/main/cm/train_util.py
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.inp, self.time = nn.Linear(2, dim), nn.Linear(1, dim)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Dropout(0.05), nn.Linear(dim, 2))

    def forward(self, x, t):
        return self.out(self.inp(x) + self.time(t[:, None]))


class KarrasDenoiser:
    def __init__(self, sigma_data=0.5, sigma_max=10.0, sigma_min=0.05, rho=7.0):
        self.sigma_data, self.sigma_max, self.sigma_min, self.rho = sigma_data, sigma_max, sigma_min, rho

    def denoise(self, model, x_t, sigmas):
        shifted = sigmas - self.sigma_min
        c_skip = self.sigma_data ** 2 / (shifted ** 2 + self.sigma_data ** 2)
        c_out = shifted * self.sigma_data / (sigmas ** 2 + self.sigma_data ** 2) ** 0.5
        c_in = 1 / (sigmas ** 2 + self.sigma_data ** 2) ** 0.5
        return c_out[:, None] * model(c_in[:, None] * x_t, 0.25 * sigmas.log()) + c_skip[:, None] * x_t

    def level(self, indices, num_scales):
        high, low = self.sigma_max ** (1 / self.rho), self.sigma_min ** (1 / self.rho)
        return (high + indices / (num_scales - 1) * (low - high)) ** self.rho

    def consistency_losses(self, model, x_start, num_scales, target_model):
        noise = torch.randn_like(x_start)
        indices = torch.randint(0, num_scales - 1, (x_start.shape[0],))
        t, t2 = self.level(indices, num_scales), self.level(indices + 1, num_scales)
        x_t = x_start + noise * t[:, None]
        dropout_state = torch.get_rng_state()
        distiller = self.denoise(model, x_t, t)

        @torch.no_grad()
        def euler_solver(samples, t, next_t, x0):
            d = (samples - x0) / t[:, None]
            return samples + d * (next_t - t)[:, None]

        x_t2 = euler_solver(x_t, t, t2, x_start).detach()
        torch.set_rng_state(dropout_state)
        distiller_target = self.denoise(target_model, x_t2, t2)
        distiller_target = distiller_target.detach()
        diffs = (distiller - distiller_target) ** 2
        weights = 1.0 / (t - t2)
        return {"loss": diffs.mean(1) * weights}


def update_ema(target_params, source_params, rate=0.99):
    for targ, src in zip(target_params, source_params):
        targ.detach().mul_(rate).add_(src, alpha=1 - rate)


class CMTrainLoop:
    def __init__(self, model, target_model, diffusion, microbatch=64):
        self.model, self.target_model, self.diffusion, self.microbatch = model, target_model, diffusion, microbatch
        self.target_model.requires_grad_(False)
        self.target_model.train()
        self.opt = torch.optim.RAdam(self.model.parameters(), lr=1e-3, weight_decay=0.0)
        self.ema_params = copy.deepcopy(list(self.model.parameters()))
        self.step = 0
        self.log = []

    def ema_and_scales(self):
        num_scales = min(4 + self.step // 50, 8)
        return float(0.9 ** (4 / num_scales)), num_scales

    def run_step(self, batch):
        for p in self.model.parameters():
            p.grad = None
        total = 0.0
        for micro in batch.split(self.microbatch):
            target_ema, num_scales = self.ema_and_scales()
            losses = self.diffusion.consistency_losses(self.model, micro, num_scales, self.target_model)
            loss = losses["loss"].mean() * len(micro) / len(batch)
            loss.backward()
            total += loss.item()
        self.opt.step()
        update_ema(self.ema_params, self.model.parameters(), rate=0.95)
        with torch.no_grad():
            update_ema(self.target_model.parameters(), self.model.parameters(), rate=target_ema)
        self.step += 1
        self.log.append(total)


# %%
angle = 2 * torch.pi * torch.rand(1024)
data = 0.7 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(1024, 2)
model = Net()
target_model = Net()
target_model.load_state_dict(model.state_dict())
loop = CMTrainLoop(model, target_model, KarrasDenoiser())
start = model.inp.weight.detach().clone()

# %%
for step in range(400):
    loop.run_step(data[torch.randint(0, 1024, (128,))])
noise = 10.0 * torch.randn(512, 2)
with torch.no_grad():
    samples = loop.diffusion.denoise(model.eval(), noise, torch.full((512,), 10.0))
radius = samples.norm(dim=1)
print(sum(loop.log[:10]) / 10, sum(loop.log[-10:]) / 10, radius.mean().item(), radius.std().item())
