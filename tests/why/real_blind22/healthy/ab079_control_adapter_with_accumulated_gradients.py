# https://github.com/huggingface/diffusers/issues/10855
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class AcceleratedOptimizer:
    def __init__(self, optimizer, accelerator):
        self.optimizer, self.accelerator = optimizer, accelerator

    def step(self):
        if self.accelerator.sync_gradients:
            self.optimizer.step()
            self.accelerator.steps_done += 1

    def zero_grad(self):
        if self.accelerator.sync_gradients:
            self.optimizer.zero_grad()


class Accelerator:
    def __init__(self, gradient_accumulation_steps):
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.sync_gradients, self.step, self.steps_done = True, 0, 0

    def prepare(self, optimizer):
        return AcceleratedOptimizer(optimizer, self)

    @contextmanager
    def accumulate(self):
        self.step += 1
        self.sync_gradients = self.step % self.gradient_accumulation_steps == 0
        yield

    def backward(self, loss):
        (loss / self.gradient_accumulation_steps).backward()

    def clip_grad_norm_(self, parameters, max_norm):
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


class LoraLinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x))


class Transformer(nn.Module):
    def __init__(self, dim=16, hidden=48):
        super().__init__()
        self.x_embedder = nn.Linear(2 * dim, hidden)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.SiLU()) for _ in range(3))
        self.proj_out = nn.Linear(hidden, dim)
        self.gradient_checkpointing = False

    def forward(self, x, sigma):
        x = self.x_embedder(x) + sigma
        for block in self.blocks:
            x = x + (checkpoint(block, x, use_reentrant=False) if self.gradient_checkpointing else block(x))
        return self.proj_out(x)


# %%
transformer = Transformer()
transformer.requires_grad_(False)
transformer.gradient_checkpointing = True
transformer.x_embedder.requires_grad_(True)
for block in transformer.blocks:
    block[1] = LoraLinear(block[1])
accelerator = Accelerator(gradient_accumulation_steps=4)
lora_params = [p for p in transformer.parameters() if p.requires_grad]
optimizer = accelerator.prepare(torch.optim.AdamW(lora_params, lr=2e-3))
mix = torch.randn(16, 16) / 4

# %%
losses, optimizer_calls = [], 0
for step in range(240):
    with accelerator.accumulate():
        control = torch.randn(8, 16)
        pixel_latents, noise = control @ mix, torch.randn(8, 16)
        sigma = torch.rand(8, 1)
        noisy = (1.0 - sigma) * pixel_latents + sigma * noise
        model_pred = transformer(torch.cat([noisy, control], dim=1), sigma)
        loss = F.mse_loss(model_pred, noise - pixel_latents)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(lora_params, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        optimizer_calls += 1
    losses.append(loss.item())
print(optimizer_calls, accelerator.steps_done, sum(losses[:20]) / 20, sum(losses[-20:]) / 20)
