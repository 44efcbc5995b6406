# https://github.com/openai/guided-diffusion/issues/111
import torch
import torch.nn as nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self, dim=8, hidden=64):
        super().__init__()
        self.input = nn.Linear(dim + 1, hidden)
        self.output = nn.Linear(hidden, dim)

    def forward(self, x, t):
        t = (t.float() / 100).unsqueeze(1)
        return self.output(torch.nn.functional.silu(self.input(torch.cat([x, t], dim=1))))


class GaussianDiffusion:
    def __init__(self, steps=100):
        betas = torch.linspace(1e-4, 2e-2, steps)
        self.alphas_cumprod = torch.cumprod(1 - betas, dim=0)

    def training_losses(self, model, x_start, t):
        noise = torch.randn_like(x_start)
        a = self.alphas_cumprod[t].unsqueeze(1)
        x_t = a.sqrt() * x_start + (1 - a).sqrt() * noise
        return {"loss": ((noise - model(x_t, t)) ** 2).mean(dim=1)}


class UniformSampler:
    def __init__(self, steps=100):
        self.steps = steps

    def sample(self, batch_size):
        return torch.randint(0, self.steps, (batch_size,)), torch.ones(batch_size)


class TrainLoop:
    def __init__(self, model, diffusion, batch_size, microbatch=-1, lr=1e-3):
        self.model = model
        self.diffusion = diffusion
        self.microbatch = microbatch if microbatch > 0 else batch_size
        self.schedule_sampler = UniformSampler()
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)

    def run_step(self, batch):
        self.forward_backward(batch)
        grad_norm = sum(p.grad.norm() ** 2 for p in self.model.parameters()).sqrt().item()
        self.opt.step()
        return grad_norm

    def forward_backward(self, batch):
        self.opt.zero_grad()
        for i in range(0, batch.shape[0], self.microbatch):
            micro = batch[i : i + self.microbatch]
            t, weights = self.schedule_sampler.sample(micro.shape[0])
            losses = self.diffusion.training_losses(self.model, micro, t)
            loss = (losses["loss"] * weights).mean()
            loss.backward()


# %%
grad_norms = {}
for microbatch in (256, 32):
    torch.manual_seed(0)
    loop = TrainLoop(Denoiser(), GaussianDiffusion(), batch_size=256, microbatch=microbatch)
    data = torch.randn(256, 8) * 0.1 + 2.0
    grad_norms[microbatch] = loop.run_step(data)
    print("microbatch", microbatch, "grad_norm", grad_norms[microbatch])
